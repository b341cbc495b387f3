//! What happens in one run, as data: so that a run that fails can be repeated without some of its steps.

use serde_json::Value;

/// A resource of the API by its plural.
pub type Resource = &'static str;

/// One step of a schedule.
#[derive(Clone, Debug)]
pub enum Step {
    /// Time passes.
    Pass {
        ms: u64,
    },
    Create {
        owner: u16,
        spec: Value,
    },
    Change {
        owner: u16,
        spec: Value,
    },
    Delete {
        owner: u16,
        propagation: &'static str,
    },
    /// Deleted and created again at once.
    Recreate {
        owner: u16,
        spec: Value,
    },
    /// So many owners with one spec, the first of which has this number.
    CreateMany {
        first: u16,
        count: u16,
        spec: Value,
    },
    /// The pods of an owner's Deployment fail for so long: it loses its readiness, and is ready again.
    FailPods {
        owner: u16,
        ms: u64,
    },
    /// What makes Deployments ready is down from here on.
    StopReadiness,
    /// Somebody edits a child.
    Edit {
        owner: u16,
        edit: Edit,
    },
    /// Somebody edits a child so long after the operator has next changed the Deployment of the owner.
    EditAfterWrite {
        owner: u16,
        edit: Edit,
        after_ms: u64,
    },
    DeleteChild {
        owner: u16,
        resource: Resource,
    },
    /// Somebody creates a child again as it was before it was last deleted: right after that it is what
    /// `kubectl replace --force` does.
    MakeAgain {
        owner: u16,
        resource: Resource,
    },
    /// A child has another controller from here on.
    TakeOver {
        owner: u16,
        resource: Resource,
    },
    /// Somebody else has an object of the name of a child.
    Occupy {
        owner: u16,
        resource: Resource,
    },
    /// What belongs to somebody else goes.
    Vacate,
    /// The next requests of this kind meet a fault.
    Request {
        verb: &'static str,
        resource: Resource,
        fault: RequestFault,
        times: u8,
    },
    /// The next event of a watch of this resource meets a fault.
    Event {
        resource: Resource,
        fault: EventFault,
    },
    /// What lives outside the cluster cannot be cleaned up for so many attempts.
    FailCleanups {
        times: u32,
    },
    CloseWatches,
    /// The server forgets its history.
    Compact,
    Backup,
    /// The server is set back to the last backup.
    Restore,
    /// The CRD goes with all owners, and comes back.
    RemoveCrd {
        seconds: u64,
    },
    /// No request is answered with success.
    Outage {
        outage: Outage,
        seconds: u64,
    },
    /// The operator's process stands still.
    Suspend {
        seconds: u64,
    },
    /// The operator's process is killed and started again after a while.
    Kill {
        down_ms: u64,
    },
    /// It is killed at a write: of two replicas the one that makes the write.
    Crash {
        writes: u8,
        when: When,
        down_ms: u64,
    },
    /// A second replica works beside the first one from here on, without leader election, as in a rollout.
    SecondStarts,
    SecondEnds,
}

impl Step {
    /// What kind of step it is, in words.
    pub fn kind(&self) -> &'static str {
        match self {
            Step::Pass { .. } => "time passes",
            Step::Create { .. } => "owner created",
            Step::CreateMany { .. } => "many owners created",
            Step::FailPods { .. } => "pods fail for a while",
            Step::StopReadiness => "status of Deployments stands still",
            Step::Change { .. } => "owner changed",
            Step::Delete { .. } => "owner deleted",
            Step::Recreate { .. } => "owner deleted and created again",
            Step::Edit { .. } => "child edited",
            Step::EditAfterWrite { .. } => "child edited after a write",
            Step::DeleteChild { .. } => "child deleted",
            Step::MakeAgain { .. } => "deleted child created again",
            Step::TakeOver { .. } => "child taken over",
            Step::Occupy { .. } => "name of a child taken",
            Step::Vacate => "what others have goes",
            Step::Request { .. } => "fault of requests",
            Step::Event { .. } => "fault of an event",
            Step::FailCleanups { .. } => "cleanups fail",
            Step::CloseWatches => "watches closed",
            Step::Compact => "history forgotten",
            Step::Backup => "backup",
            Step::Restore => "datastore restored",
            Step::RemoveCrd { .. } => "CRD removed and installed",
            Step::Outage { .. } => "outage",
            Step::Suspend { .. } => "process stands still",
            Step::Kill { .. } => "process killed",
            Step::Crash { .. } => "kill at a write",
            Step::SecondStarts => "second replica starts",
            Step::SecondEnds => "second replica ends",
        }
    }
}

/// An edit of a child by somebody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    Replicas,
    Image,
    /// A field that no plan names.
    Unplanned,
    /// An annotation of the Deployment that no plan names.
    Annotation,
    /// One of the child that comes and goes, whose status no plan looks at.
    AnnotationBeside,
    /// A label that is planned.
    Label,
    Selector,
    SelectorKey,
    Ports,
    Data,
    /// Its owner references go.
    Owners,
}

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestFault {
    /// Answered with this code, not executed.
    Refuse(u16),
    /// The connection fails before anything is sent.
    Unsent,
    /// Executed, and answered with 504.
    Late504,
    /// Executed, and the connection is lost.
    Unanswered,
    /// Neither executed nor answered.
    Silence,
    /// Executed, never answered.
    LateSilence,
    /// Executed after a while.
    Slow { ms: u64 },
    /// One object of the answer cannot be decoded.
    Garbage,
    /// The body of the answer ends after so many bytes, with or without an error.
    Cut { bytes: u16, error: bool },
}

impl RequestFault {
    /// What kind of fault it is, in words.
    pub fn kind(self) -> String {
        let kind = match self {
            RequestFault::Refuse(code) => return format!("request: refused with {code}"),
            RequestFault::Unsent => "not sent",
            RequestFault::Late504 => "executed, answered with 504",
            RequestFault::Unanswered => "executed, connection lost",
            RequestFault::Silence => "not executed, silent",
            RequestFault::LateSilence => "executed, silent",
            RequestFault::Slow { .. } => "slow",
            RequestFault::Garbage => "answer cannot be decoded",
            RequestFault::Cut { .. } => "answer cut at a byte",
        };
        format!("request: {kind}")
    }
}

/// What happens to a watch event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventFault {
    Delay {
        ms: u64,
    },
    Duplicate,
    /// It is lost with the rest of its stream.
    Close,
    /// Half of it arrives.
    Truncate,
    /// It cannot be decoded.
    Garbage,
    /// The stream is open and silent.
    Stall,
    Error410,
    /// It and the events that follow at once arrive as the last of them.
    Coalesce,
}

impl EventFault {
    /// What kind of fault it is, in words.
    pub fn kind(self) -> &'static str {
        match self {
            EventFault::Delay { .. } => "event: late",
            EventFault::Duplicate => "event: twice",
            EventFault::Close => "event: lost with its stream",
            EventFault::Truncate => "event: half of it",
            EventFault::Garbage => "event: cannot be decoded",
            EventFault::Stall => "event: stream silent",
            EventFault::Error410 => "event: 410 in the stream",
            EventFault::Coalesce => "event: merged with the next",
        }
    }
}

/// A server that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outage {
    /// It answers 503.
    Unavailable,
    /// It refuses connections.
    Unreachable,
    /// It takes requests and is silent.
    Silent,
}

/// When the operator is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// The write was not sent.
    Before,
    /// It was executed; nobody knows.
    Committed,
    /// It was answered.
    Answered,
}

impl When {
    /// What kind of fault it is, in words.
    pub fn kind(self) -> &'static str {
        match self {
            When::Before => "killed before a write",
            When::Committed => "killed after a write was executed",
            When::Answered => "killed after a write was answered",
        }
    }
}
