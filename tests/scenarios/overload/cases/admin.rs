//! Connections to the admin port that do nothing.

use std::net::SocketAddr;
use std::time::Duration;

use futures::future::join_all;
use libtest_mimic::Failed;
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use crate::cluster::objects::web;
use crate::cluster::process::get;
use crate::overload::record::{Figures, seconds};
use crate::overload::setting::Setting;

const CONNECTIONS: usize = 1_000;
/// Of this process: the connections, and what other cases have open.
const FILES: u64 = 4_096;
const PROBE_EVERY: Duration = Duration::from_millis(100);
/// As the shipped liveness probe waits.
const PROBE_WITHIN: Duration = Duration::from_secs(5);
/// Probes in a row without an answer after which the kubelet restarts a container.
const RESTART: f64 = 3.0;
const P99: Duration = Duration::from_secs(1);
/// Where `OVERLOAD_IDLE_S` is not set.
const IDLE_S: u64 = 20;

/// Each is opened again a second after the operator has closed it.
pub async fn a_thousand_idle_connections(
    setting: &Setting,
    figures: &mut Figures,
) -> Result<(), Failed> {
    allow_open_files()?;
    let idle_s = match std::env::var("OVERLOAD_IDLE_S") {
        Ok(text) => text.parse()?,
        Err(_) => IDLE_S,
    };
    let mut operator = setting.operate(setting.direct()).await?;
    let idle = join_all((0..CONNECTIONS).map(|_| stay_connected(operator.admin())));
    let mut times = Vec::new();
    let (mut unanswered, mut in_a_row, mut most_in_a_row) = (0_u32, 0_u32, 0_u32);
    let probes = async {
        let end = Instant::now() + Duration::from_secs(idle_s);
        while Instant::now() < end {
            let began = Instant::now();
            match timeout(PROBE_WITHIN, get(operator.admin(), "/livez")).await {
                Ok(Ok(answer)) if answer.starts_with("HTTP/1.1 200") => {
                    times.push(began.elapsed());
                    in_a_row = 0;
                }
                // It counts as one that took as long as the kubelet waits.
                _ => {
                    times.push(PROBE_WITHIN);
                    unanswered += 1;
                    in_a_row += 1;
                    most_in_a_row = in_a_row.max(most_in_a_row);
                }
            }
            sleep(PROBE_EVERY).await;
        }
        setting.cluster.create("beside", web()).await;
        setting.cluster.until_running("beside").await;
    };
    tokio::select! {
        _ = idle => return Err("connections end by themselves".into()),
        () = probes => {}
    }
    let rows = times.iter().map(|took| vec![seconds(*took)]);
    figures.samples("answers of /livez", &["s"], rows.collect());
    times.sort();
    let p99 = times
        .get(times.len().saturating_sub(1) * 99 / 100)
        .ok_or("no probe was sent")?;
    figures.tell("connections", CONNECTIONS as f64, "");
    figures.tell("for", idle_s as f64, "s");
    figures.tell("probes", times.len() as f64, "");
    figures.tell("probes without an answer", f64::from(unanswered), "");
    figures.at_most(
        "of these in a row",
        f64::from(most_in_a_row),
        "",
        RESTART - 1.0,
    );
    figures.within("P99 of /livez", *p99, P99);
    figures.tell("peak of the operator", operator.peak_mb()?, "MB");
    operator.check_alive()
}

/// A connection that sends nothing, whenever it is closed a new one.
async fn stay_connected(address: SocketAddr) {
    loop {
        if let Ok(mut stream) = TcpStream::connect(address).await {
            let mut byte = [0];
            let _ = stream.read(&mut byte).await;
        }
        sleep(Duration::from_secs(1)).await;
    }
}

fn allow_open_files() -> Result<(), Failed> {
    let mut limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(FILES, |most| most.min(FILES));
    if limit.current.is_some_and(|current| current < wanted) {
        limit.current = Some(wanted);
        setrlimit(Resource::Nofile, limit)?;
    }
    Ok(())
}
