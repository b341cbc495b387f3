//! The addresses of a node, its server, its pods and its Services, in each family.
//!
//! Guarantees: everything has addresses of one family alone, but for 127.0.0.1, which every network has.
//! Leaves to others: giving them out (`init.sh`, the pods' network in `components`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The family of addresses that a node, its pods and its Services have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IpFamily {
    #[default]
    V4,
    V6,
}

impl IpFamily {
    /// The node's own address.
    pub(crate) fn node(self) -> IpAddr {
        match self {
            IpFamily::V4 => Ipv4Addr::new(10, 99, 0, 1).into(),
            IpFamily::V6 => Ipv6Addr::new(0xfd00, 0x99, 0, 0, 0, 0, 0, 1).into(),
        }
    }

    /// The first address of [`IpFamily::services`], which is that of the Service `kubernetes`: the server listens
    /// there, so that what pods are told is true without kube-proxy.
    pub(crate) fn server(self) -> SocketAddr {
        let address: IpAddr = match self {
            IpFamily::V4 => Ipv4Addr::new(10, 96, 0, 1).into(),
            IpFamily::V6 => Ipv6Addr::new(0xfd00, 0x96, 0, 0, 0, 0, 0, 1).into(),
        };
        (address, 443).into()
    }

    pub(crate) fn services(self) -> &'static str {
        match self {
            IpFamily::V4 => "10.96.0.0/16",
            IpFamily::V6 => "fd00:96::/112",
        }
    }

    pub(crate) fn pods(self) -> &'static str {
        match self {
            IpFamily::V4 => "10.98.0.0/24",
            IpFamily::V6 => "fd00:98::/112",
        }
    }

    pub(crate) fn anywhere(self) -> &'static str {
        match self {
            IpFamily::V4 => "0.0.0.0/0",
            IpFamily::V6 => "::/0",
        }
    }
}
