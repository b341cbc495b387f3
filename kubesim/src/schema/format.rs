//! The string formats that apiextensions/v1 checks and that objects here use.

/// Unknown formats hold for everything, as in the real server.
pub(crate) fn holds(format: &str, text: &str) -> bool {
    match format {
        "date-time" => date_time(text),
        "date" => date(text),
        "byte" => {
            use base64::Engine;
            base64::engine::general_purpose::STANDARD
                .decode(text)
                .is_ok()
        }
        "ipv4" => text.parse::<std::net::Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<std::net::Ipv6Addr>().is_ok(),
        "uuid" => {
            let hex: Vec<&str> = text.split('-').collect();
            hex.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12])
                && hex
                    .iter()
                    .all(|part| part.chars().all(|c| c.is_ascii_hexdigit()))
        }
        _ => true,
    }
}

fn date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    parts.iter().map(|p| p.len()).eq([4, 2, 2])
        && parts.iter().all(|p| p.chars().all(|c| c.is_ascii_digit()))
        && (1..=12).contains(&parts[1].parse::<u8>().unwrap_or(0))
        && (1..=31).contains(&parts[2].parse::<u8>().unwrap_or(0))
}

fn date_time(text: &str) -> bool {
    let Some((day, rest)) = text.split_once(['T', 't']) else {
        return false;
    };
    let Some(zone_at) = rest.find(['Z', 'z', '+', '-']) else {
        return false;
    };
    let clock: Vec<&str> = rest[..zone_at]
        .split('.')
        .next()
        .unwrap_or("")
        .split(':')
        .collect();
    date(day)
        && clock.iter().map(|p| p.len()).eq([2, 2, 2])
        && clock.iter().all(|p| p.chars().all(|c| c.is_ascii_digit()))
}
