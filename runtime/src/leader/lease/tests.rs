//! What a candidate does next, for everything that it can observe.

use super::*;

const US: &str = "us";

/// A record of `holder`, renewed for the `n`th time.
fn record(holder: &str, n: u32) -> Record {
    Record {
        version: n.to_string().into(),
        holder: holder.into(),
        duration: Some(Duration::from_secs(15)),
        renewed: n.to_string().into(),
        transitions: 1,
    }
}

/// What happens, and when, s.
#[derive(Clone)]
enum Event {
    Read(Option<Record>),
    /// A write of ours succeeded; it took a second.
    Written(Record),
    Conflict,
    /// A request failed after a second.
    Failed,
    /// Work has ended.
    Done,
}

use Event::{Conflict, Done, Failed, Read, Written};

/// What is due next, in words.
fn next(lease: &Lease, start: Instant, now: Instant) -> String {
    let Some((at, action)) = lease.next(now) else {
        return "nothing".to_owned();
    };
    let what = match action {
        Action::Read => "read",
        Action::Create => "create",
        Action::Write(Write::Take) => "take",
        Action::Write(Write::Renew) => "renew",
        Action::Write(Write::Release) => "release",
    };
    let deadline = lease.deadline().map_or(String::new(), |deadline| {
        format!(", stop at {}", (deadline - start).as_secs())
    });
    format!("{what} at {}{deadline}", (at - start).as_secs())
}

struct Case {
    name: &'static str,
    events: Vec<(u64, Event)>,
    want: &'static str,
}

#[tokio::test(start_paused = true)]
async fn what_a_candidate_does_next() {
    let other = |n| Read(Some(record("them", n)));
    let unlimited = Record {
        duration: None,
        ..record("them", 1)
    };
    let short = Record {
        duration: Some(Duration::from_secs(1)),
        ..record("them", 1)
    };
    let relabelled = Record {
        version: "99".into(),
        ..record("them", 1)
    };
    let case = |name, events: &[(u64, Event)], want| Case {
        name,
        events: events.to_vec(),
        want,
    };
    let cases = [
        case("nothing is known", &[], "read at 0"),
        case("there is none", &[(0, Read(None))], "create at 0"),
        case(
            "it was released",
            &[(0, Read(Some(record("", 1))))],
            "take at 0",
        ),
        case(
            "it is ours: the answer to our write was lost",
            &[(0, Read(Some(record(US, 1))))],
            "take at 0",
        ),
        case("another holds it", &[(0, other(1))], "read at 2"),
        case(
            "the other renews it: it is observed anew",
            &[(0, other(1)), (14, other(2))],
            "read at 16",
        ),
        case(
            "it is about to expire",
            &[(0, other(1)), (14, other(1))],
            "read at 15",
        ),
        case("it expired", &[(0, other(1)), (15, other(1))], "take at 15"),
        case(
            "a changed label is no renewal",
            &[(0, other(1)), (15, Read(Some(relabelled)))],
            "take at 15",
        ),
        case(
            "it does not say how long it lasts",
            &[
                (0, Read(Some(unlimited.clone()))),
                (14, Read(Some(unlimited))),
            ],
            "read at 15",
        ),
        case(
            "its holder promised to renew it earlier",
            &[(0, Read(Some(short.clone()))), (1, Read(Some(short)))],
            "take at 1",
        ),
        case(
            "it was deleted under its holder, who may not know yet",
            &[(0, other(1)), (2, Read(None))],
            "read at 4",
        ),
        case(
            "it was deleted, and its holder must have stopped",
            &[(0, other(1)), (2, Read(None)), (15, Read(None))],
            "create at 15",
        ),
        case(
            "it was released and then deleted",
            &[
                (0, other(1)),
                (2, Read(Some(record("", 2)))),
                (3, Read(None)),
            ],
            "create at 3",
        ),
        case(
            "another was faster",
            &[(0, Read(None)), (0, Conflict)],
            "read at 2",
        ),
        case("the server is away", &[(1, Failed)], "read at 2"),
        case(
            "the request to create it fails",
            &[(0, Read(None)), (5, Failed)],
            "read at 6",
        ),
        case(
            "it is taken: the deadline counts from when that was sent",
            &[(0, Read(None)), (1, Written(record(US, 1)))],
            "renew at 2, stop at 10",
        ),
        case(
            "it is renewed",
            &[(1, Written(record(US, 1))), (3, Written(record(US, 2)))],
            "renew at 4, stop at 12",
        ),
        case(
            "a renewal fails",
            &[(1, Written(record(US, 1))), (3, Failed)],
            "renew at 4, stop at 10",
        ),
        case(
            "a renewal meets another version",
            &[(1, Written(record(US, 1))), (3, Conflict)],
            "read at 3, stop at 10",
        ),
        case(
            "it was our own write whose answer was lost: that renews nothing",
            &[
                (1, Written(record(US, 1))),
                (3, Conflict),
                (4, Read(Some(record(US, 2)))),
            ],
            "renew at 4, stop at 10",
        ),
        case(
            "it was another holder",
            &[(1, Written(record(US, 1))), (3, Conflict), (3, other(2))],
            "nothing",
        ),
        case(
            "somebody has released it for us",
            &[
                (1, Written(record(US, 1))),
                (3, Conflict),
                (3, Read(Some(record("", 2)))),
            ],
            "nothing",
        ),
        case(
            "it was deleted under us",
            &[(1, Written(record(US, 1))), (3, Conflict), (3, Read(None))],
            "nothing",
        ),
        case(
            "work has ended",
            &[(1, Written(record(US, 1))), (5, Done)],
            "release at 5, stop at 7",
        ),
        case(
            "work has ended shortly before the deadline",
            &[(1, Written(record(US, 1))), (9, Done)],
            "release at 9, stop at 10",
        ),
        case(
            "the release meets a renewal of ours whose answer was lost",
            &[
                (1, Written(record(US, 1))),
                (5, Done),
                (5, Conflict),
                (6, Read(Some(record(US, 2)))),
            ],
            "release at 6, stop at 7",
        ),
        case(
            "it is released",
            &[
                (1, Written(record(US, 1))),
                (5, Done),
                (6, Written(record("", 2))),
            ],
            "nothing",
        ),
        case(
            "what is lost stays lost",
            &[
                (1, Written(record(US, 1))),
                (3, Conflict),
                (3, Read(None)),
                (4, Failed),
                (4, Conflict),
            ],
            "nothing",
        ),
    ];
    for Case { name, events, want } in cases {
        let start = Instant::now();
        let mut lease = Lease::new(US, TIMING, start);
        let mut now = start;
        for (at_s, event) in events {
            now = start + Duration::from_secs(at_s);
            let sent = now
                .checked_sub(Duration::from_secs(1))
                .unwrap_or(now)
                .max(start);
            match event {
                Read(found) => lease.on_read(found, now),
                Written(record) => lease.on_written(record, sent),
                Conflict => lease.on_conflict(sent, now),
                Failed => lease.on_failed(sent, now),
                Done => lease.release(now),
            }
        }
        assert_eq!(next(&lease, start, now), want, "{name}");
    }
}

/// A holder stops at the deadline; another begins after the duration. Whatever the second observes, and however
/// long its requests take, it begins later than the first stops.
#[tokio::test(start_paused = true)]
async fn nobody_begins_before_the_holder_that_was_observed_has_stopped() {
    assert!(TIMING.deadline + TIMING.retry < TIMING.duration);
    let start = Instant::now();
    for sent_ms in 0..2_000_u64 {
        let mut holder = Lease::new("them", TIMING, start);
        let sent = start + Duration::from_millis(sent_ms);
        holder.on_written(record("them", 1), sent);
        let stops = holder.deadline().expect("it holds the Lease");

        let mut standby = Lease::new(US, TIMING, start);
        let mut now = start;
        loop {
            let (at, action) = standby.next(now).expect("a candidate");
            if action != Action::Read {
                break;
            }
            now = at;
            let found = (now >= sent).then(|| record("them", 1));
            // Before it was created it is read, but not created here: that would be refused.
            match found {
                Some(found) => standby.on_read(Some(found), now),
                None => standby.on_failed(now, now),
            }
        }
        assert!(
            now >= stops + Duration::from_secs(3),
            "sent at {sent_ms} ms"
        );
        assert!(now <= sent + TIMING.duration + TIMING.retry);
    }
}
