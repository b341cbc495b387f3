//! The command line of an operator's program.
//!
//! Guarantees: pure; an error is one line that names the option and what is valid.

use std::ffi::OsString;
use std::fmt::Display;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;

use lexopt::prelude::*;
use tracing::level_filters::LevelFilter;

use crate::app::admin;
use crate::cache::Mode;

/// The text of `help`, with placeholders.
const HELP: &str = "\
{name}: {about}

Usage: {name} <command> [options]

Commands:
  run       reconcile until SIGTERM
  crd       print the CRD, as kubectl reads it
  install   apply the CRD and wait until it is Established
  version   print version, commit, target and allocator
  help      print this

Options of run:
  --cache MODE         what is retained of idle objects                  [none]
                       none: nothing; memory follows the work in flight
                       metadata: their identity; for large specs that change rarely
                       pruned: their specs; no reads, for children that change often
  --namespace NS       only this namespace, or these where it is repeated [all]
  --selector LABELS    only objects with these labels, as in kubectl -l  [all]
  --concurrency N      objects reconciled at once, 1 to 256              [16]
  --relist-period S    seconds between relists, 10 to 86400              [36000]
  --timeout SECONDS    deadline of one reconcile, 1 to 600               [30]
  --install-crd        apply the CRD first
  --leader-elect       of several replicas only the one that holds a Lease works
  --lease NAME         name of that Lease, in the namespace of the client        [{name}]
                       replicas with another --namespace or --selector need one of their own
  --admin ADDR         address of /livez, /readyz and /metrics; :PORT is
                       all addresses of the machine                      [127.0.0.1:8080]

Options of run and install:
  --context NAME       context of the kubeconfig                         [current]
  --log LEVEL          error, warn, info, debug or trace                 [info]

The kubeconfig is $KUBECONFIG, else ~/.kube/config. Inside a pod without a kubeconfig
the service account is used.
";

/// The text of `help` for the program `name`.
pub fn help(name: &str, about: &str) -> String {
    HELP.replace("{name}", name).replace("{about}", about)
}

/// Removes `option` and its value, given as `--option VALUE` or `--option=VALUE`, from `arguments`: for
/// a program with an option of its own. Returns the value.
///
/// # Errors
/// The option has no value, or the value is not UTF-8.
pub fn take(arguments: &mut Vec<OsString>, option: &str) -> Result<Option<String>, UsageError> {
    let with_value = format!("{option}=");
    let Some(place) = arguments.iter().position(|argument| {
        let text = argument.to_string_lossy();
        text == option || text.starts_with(&with_value)
    }) else {
        return Ok(None);
    };
    let found = arguments.remove(place).into_string();
    let value = match found.as_deref().map(|text| text.strip_prefix(&with_value)) {
        Ok(Some(value)) => Ok(value.to_owned()),
        Ok(None) if place < arguments.len() => arguments.remove(place).into_string(),
        Ok(None) => return Err(UsageError(format!("{option} needs a value"))),
        Err(_) => Err(OsString::new()),
    };
    value
        .map(Some)
        .map_err(|_| UsageError(format!("the value of {option} is not UTF-8")))
}

/// The same, parsed; `default` where it is not given.
///
/// # Errors
/// The value is invalid, which is printed: the exit code of the program.
pub fn option<T: FromStr<Err: Display>>(
    arguments: &mut Vec<OsString>,
    option: &str,
    default: T,
) -> Result<T, ExitCode> {
    let parsed = match take(arguments, option) {
        Ok(None) => return Ok(default),
        Ok(Some(text)) => text
            .parse()
            .map_err(|error| format!("{option} {text:?}: {error}")),
        Err(error) => Err(error.to_string()),
    };
    parsed.map_err(|why| {
        eprintln!("error: {why}; `help` lists the other options");
        ExitCode::from(2)
    })
}

/// A command with its options.
#[derive(Debug, PartialEq)]
pub enum Command {
    /// `run`.
    Run(Run),
    /// `crd`.
    Crd,
    /// `install`.
    Install(Cluster),
    /// `version`.
    Version,
    /// `help`.
    Help,
}

/// How to reach the cluster, and what to log.
#[derive(Debug, PartialEq)]
pub struct Cluster {
    /// Context of the kubeconfig.
    pub context: Option<String>,
    /// Level of the log.
    pub log: LevelFilter,
}

/// The name of a Lease.
#[derive(Debug, PartialEq)]
pub enum LeaseName {
    /// The operator's own.
    Operators,
    /// Another one.
    Given(String),
}

/// The options of `run`.
#[derive(Debug, PartialEq)]
pub struct Run {
    /// How to reach the cluster.
    pub cluster: Cluster,
    /// What is retained of idle objects.
    pub cache: Mode,
    /// Only these namespaces; none: all of them.
    pub namespaces: Vec<String>,
    /// Only owners with these labels.
    pub selector: Option<String>,
    /// Owners reconciled at once.
    pub concurrency: usize,
    /// Time between relists, if given.
    pub relist_period: Option<Duration>,
    /// Deadline of one reconcile.
    pub timeout: Duration,
    /// Whether the CRD is applied first.
    pub install_crd: bool,
    /// Name of the Lease whose holder works, of several replicas. `None` without leader election.
    pub lease: Option<LeaseName>,
    /// Address of the admin port.
    pub admin: SocketAddr,
}

/// A command line that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(String);

impl From<lexopt::Error> for UsageError {
    fn from(error: lexopt::Error) -> Self {
        Self(error.to_string())
    }
}

/// Reads the arguments after the program's name.
///
/// # Errors
/// One line that names what is invalid and what is valid.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, UsageError> {
    let mut parser = lexopt::Parser::from_args(arguments);
    let command = match parser.next()? {
        None => return Err(UsageError("a command is missing".to_owned())),
        Some(Value(command)) => command.string()?,
        Some(Short('h') | Long("help")) => return Ok(Command::Help),
        Some(Short('V') | Long("version")) => return Ok(Command::Version),
        Some(other) => return Err(other.unexpected().into()),
    };
    let mut run = Run {
        cluster: Cluster {
            context: None,
            log: LevelFilter::INFO,
        },
        cache: Mode::default(),
        namespaces: Vec::new(),
        selector: None,
        concurrency: 16,
        relist_period: None,
        timeout: Duration::from_secs(30),
        install_crd: false,
        lease: None,
        admin: SocketAddr::from(([127, 0, 0, 1], 8080)),
    };
    let mut lease_name = None;
    let (running, reaching) = (
        command == "run",
        matches!(command.as_str(), "run" | "install"),
    );
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(Command::Help),
            Long("context") if reaching => run.cluster.context = Some(parser.value()?.string()?),
            Long("log") if reaching => run.cluster.log = log_level(&parser.value()?.string()?)?,
            Long("cache") if running => {
                let mode = parser.value()?.string()?;
                run.cache = mode
                    .parse()
                    .map_err(|error| UsageError(format!("--cache: {error}")))?;
            }
            Long("namespace") if running => run.namespaces.push(parser.value()?.string()?),
            Long("selector") if running => run.selector = Some(parser.value()?.string()?),
            Long("concurrency") if running => {
                let value = parser.value()?.string()?;
                run.concurrency =
                    usize::try_from(number("concurrency", &value, 1, 256)?).unwrap_or(16);
            }
            Long("relist-period") if running => {
                let value = parser.value()?.string()?;
                let seconds = number("relist-period", &value, 10, 86_400)?;
                run.relist_period = Some(Duration::from_secs(seconds));
            }
            Long("timeout") if running => {
                let value = parser.value()?.string()?;
                run.timeout = Duration::from_secs(number("timeout", &value, 1, 600)?);
            }
            Long("install-crd") if running => run.install_crd = true,
            Long("leader-elect") if running => run.lease = Some(LeaseName::Operators),
            Long("lease") if running => lease_name = Some(parser.value()?.string()?),
            Long("admin") if running => {
                let value = parser.value()?.string()?;
                run.admin = admin::parse(&value).ok_or_else(|| {
                    UsageError(format!(
                        "--admin {value:?} is not an address; give one like 127.0.0.1:8080, or :8080 for all of the machine"
                    ))
                })?;
            }
            other => return Err(other.unexpected().into()),
        }
    }
    run.lease = lease(&run, lease_name)?;
    match command.as_str() {
        "run" => Ok(Command::Run(run)),
        "crd" => Ok(Command::Crd),
        "install" => Ok(Command::Install(run.cluster)),
        "version" => Ok(Command::Version),
        "help" => Ok(Command::Help),
        other => Err(UsageError(format!("unknown command {other:?}"))),
    }
}

/// Replicas with different work must not wait for each other: the second would stand by for ever.
fn lease(run: &Run, name: Option<String>) -> Result<Option<LeaseName>, UsageError> {
    let is_part = !run.namespaces.is_empty() || run.selector.is_some();
    match (&run.lease, name) {
        (None, None) => Ok(None),
        (None, Some(_)) => Err(UsageError("--lease needs --leader-elect".to_owned())),
        (Some(_), Some(name)) => Ok(Some(LeaseName::Given(name))),
        (Some(_), None) if is_part => Err(UsageError(
            "--leader-elect with --namespace or --selector needs --lease NAME: one name for the replicas that share these options"
                .to_owned(),
        )),
        (Some(_), None) => Ok(Some(LeaseName::Operators)),
    }
}

fn number(option: &str, value: &str, least: u64, most: u64) -> Result<u64, UsageError> {
    match value.parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(UsageError(format!(
            "--{option} {value:?} is not a number from {least} to {most}"
        ))),
    }
}

fn log_level(value: &str) -> Result<LevelFilter, UsageError> {
    value.parse().map_err(|_| {
        UsageError(format!(
            "--log {value:?} is not one of error, warn, info, debug, trace"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_line(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(OsString::from)).map_err(|error| error.to_string())
    }

    #[test]
    fn command_lines() {
        assert_eq!(parse_line("crd"), Ok(Command::Crd));
        assert_eq!(parse_line("run --help"), Ok(Command::Help));
        let Ok(Command::Run(run)) =
            parse_line("run --concurrency 4 --admin [::1]:9 --namespace shop --namespace=infra")
        else {
            panic!("a valid line is refused");
        };
        assert_eq!(
            (run.concurrency, run.admin.port(), run.namespaces),
            (4, 9, vec!["shop".to_owned(), "infra".to_owned()])
        );
    }

    #[test]
    fn addresses_of_the_admin_port() {
        for (written, want) in [
            ("127.0.0.1:8080", Some("127.0.0.1:8080")),
            ("[::1]:9", Some("[::1]:9")),
            (":8080", Some("[::]:8080")),
            (":", None),
            (":65536", None),
            ("localhost:8080", None),
        ] {
            let parsed = parse_line(&format!("run --admin {written}"));
            let address = match parsed {
                Ok(Command::Run(run)) => Some(run.admin.to_string()),
                _ => None,
            };
            assert_eq!(address.as_deref(), want, "{written}");
        }
    }

    #[test]
    fn leases() {
        for (line, want) in [
            ("run", None),
            ("run --leader-elect", Some(LeaseName::Operators)),
            (
                "run --lease a --leader-elect --selector shard=1",
                Some(LeaseName::Given("a".to_owned())),
            ),
        ] {
            let Ok(Command::Run(run)) = parse_line(line) else {
                panic!("{line} is refused");
            };
            assert_eq!(run.lease, want, "{line}");
        }
    }

    #[test]
    fn an_option_of_a_programs_own_is_taken_out() {
        let cases = [
            (
                "run --image a:1 --log warn",
                Ok(Some("a:1")),
                "run --log warn",
            ),
            ("--image=a:1 run", Ok(Some("a:1")), "run"),
            ("run --images a", Ok(None), "run --images a"),
            ("run --image", Err("--image needs a value"), "run"),
        ];
        for (line, want, left) in cases {
            let mut arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let taken = take(&mut arguments, "--image").map_err(|error| error.to_string());
            assert_eq!(
                taken.as_ref().map(Option::as_deref).map_err(String::as_str),
                want,
                "{line}"
            );
            assert_eq!(
                arguments.join(OsString::from(" ").as_os_str()),
                left,
                "{line}"
            );
        }
    }

    #[test]
    fn bad_command_lines_say_what_and_what_instead() {
        let cases = [
            ("", "a command is missing"),
            ("walk", "unknown command \"walk\""),
            (
                "run --cache warm",
                "unknown cache mode \"warm\"; there are none, metadata and pruned",
            ),
            (
                "run --concurrency 0",
                "--concurrency \"0\" is not a number from 1 to 256",
            ),
            ("run --admin here", "--admin \"here\" is not an address"),
            ("run --log loud", "--log \"loud\" is not one of error, warn"),
            ("crd --namespace x", "invalid option '--namespace'"),
            ("run --lease x", "--lease needs --leader-elect"),
            (
                "run --leader-elect --selector shard=1",
                "--leader-elect with --namespace or --selector needs --lease NAME",
            ),
            ("crd --leader-elect", "invalid option '--leader-elect'"),
            (
                "run --relist-period 9",
                "--relist-period \"9\" is not a number from 10 to 86400",
            ),
        ];
        for (line, want) in cases {
            let error = parse_line(line).expect_err(line);
            assert!(error.contains(want), "{line}: {error}");
        }
    }
}
