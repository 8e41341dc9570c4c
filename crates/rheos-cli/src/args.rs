//! What can be asked for on the command line.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};

use crate::help;

/// The whole command line.
#[derive(Debug, Parser)]
#[command(name = "rheos", version, about = help::ABOUT, long_about = help::ABOUT_LONG, after_help = help::START, max_term_width = 120)]
#[command(propagate_version = true, disable_help_subcommand = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The first word after `rheos`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run SQL: the statements of a script, in order
    #[command(after_long_help = help::RUN)]
    Run(RunArgs),
    /// Carry out SQL as you type it: a shell with completion, history and live results
    #[command(after_long_help = help::SQL)]
    Sql(SqlArgs),
    /// Serve as the coordinator of a cluster: keeps jobs, tells workers what to run, REST for people and tools
    #[command(after_long_help = help::CLUSTER)]
    Coordinator(CoordinatorArgs),
    /// Serve as a worker of a cluster: runs what a coordinator tells it to
    #[command(after_long_help = help::CLUSTER)]
    Worker(WorkerArgs),
    /// A coordinator and workers on this machine, for development
    #[command(after_long_help = help::CLUSTER)]
    Cluster(ClusterArgs),
    /// Hand the jobs of a script to a cluster; they run on when the command has ended
    #[command(after_long_help = help::CLUSTER)]
    Submit(SubmitArgs),
    /// List the jobs of a cluster
    Jobs(TargetArgs),
    /// Show, cancel or stop a job of a cluster, or follow what happens to it
    #[command(subcommand)]
    Job(JobCommand),
    /// List the workers of a cluster
    Workers(TargetArgs),
    /// Show how queries would run, without running them
    #[command(after_long_help = help::EXPLAIN)]
    Explain(ExplainArgs),
    /// Kill a bounded job over and over, restore it each time, and compare its output with that of a run without failure
    #[command(after_long_help = help::TORTURE)]
    Torture(TortureArgs),
    /// Kill, stop and cut apart the processes of a cluster while it runs a bounded job, and compare the output likewise
    #[command(after_long_help = help::TORTURE_CLUSTER)]
    TortureCluster(ClusterTortureArgs),
    /// List, show and verify the snapshots of jobs
    #[command(subcommand)]
    Checkpoints(CheckpointsCommand),
    /// Measure Rheos on this machine
    #[command(subcommand)]
    Bench(BenchCommand),
    /// List connectors and formats with their options
    Connectors(ListArgs),
    /// List the functions of SQL
    Functions(ListArgs),
}

/// Which SQL, under which settings.
#[derive(Debug, Clone, Args)]
#[command(group = ArgGroup::new("sql").required(true).multiple(true))]
pub(crate) struct ScriptArgs {
    /// Scripts to run, one after the other; '-' reads standard input
    #[arg(value_name = "FILE.sql", group = "sql")]
    pub(crate) files: Vec<PathBuf>,
    /// SQL to run, after the scripts if there are any
    #[arg(short = 'e', long = "execute", value_name = "SQL", group = "sql")]
    pub(crate) execute: Vec<String>,
    /// A setting, stronger than a SET in the script
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = pair)]
    pub(crate) set: Vec<(String, String)>,
    /// What ${NAME} stands for in the SQL, stronger than an environment variable of that name
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = pair)]
    pub(crate) variables: Vec<(String, String)>,
    /// How many subtasks an operator runs as; 'auto' is the number of cores [default: 1]
    #[arg(short = 'p', long, value_name = "N|auto")]
    pub(crate) parallelism: Option<String>,
}

/// `rheos run`
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) script: ScriptArgs,
    /// The form of results [default: table on a terminal, changelog elsewhere]
    #[arg(short, long, value_enum)]
    pub(crate) output: Option<OutputKind>,
    #[command(flatten)]
    pub(crate) snapshots: SnapshotArgs,
    /// Run on the cluster whose coordinator is there, and show the rows here
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) target: Option<String>,
    /// The file that holds the cluster's token [default: the environment variable RHEOS_TOKEN, or none]
    #[arg(long, value_name = "FILE", requires = "target")]
    pub(crate) token_file: Option<PathBuf>,
    /// Write all rows to part files in this folder, whatever the SQL says, and tell on standard error how the job goes
    #[arg(long, value_name = "DIR", hide = true)]
    pub(crate) sink_to: Option<PathBuf>,
}

/// `rheos sql`
#[derive(Debug, Args)]
pub(crate) struct SqlArgs {
    /// A script whose statements are carried out first; none of them is kept in the catalog
    #[arg(short = 'f', long = "init", value_name = "FILE.sql")]
    pub(crate) init: Vec<PathBuf>,
    /// SQL to carry out instead of reading any; then the command ends
    #[arg(short = 'e', long = "execute", value_name = "SQL")]
    pub(crate) execute: Vec<String>,
    /// Keep tables, views and settings in this file, as SQL, and begin with those that it holds
    #[arg(long, value_name = "FILE.sql")]
    pub(crate) catalog: Option<PathBuf>,
    /// A setting, stronger than a SET
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = pair)]
    pub(crate) set: Vec<(String, String)>,
    /// What ${NAME} stands for in the SQL, stronger than an environment variable of that name
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = pair)]
    pub(crate) variables: Vec<(String, String)>,
    /// How many subtasks an operator runs as; 'auto' is the number of cores [default: 1]
    #[arg(short = 'p', long, value_name = "N|auto")]
    pub(crate) parallelism: Option<String>,
    /// The form of results [default: table on a terminal, changelog elsewhere]
    #[arg(short, long, value_enum)]
    pub(crate) output: Option<OutputKind>,
    /// Where entries are remembered [default: rheos/sql_history in $XDG_STATE_HOME or ~/.local/state]
    #[arg(long, value_name = "FILE", conflicts_with = "no_history")]
    pub(crate) history: Option<PathBuf>,
    /// Remember no entries, and do not begin with those of earlier sessions
    #[arg(long)]
    pub(crate) no_history: bool,
    #[command(flatten)]
    pub(crate) snapshots: SnapshotArgs,
}

/// Where the snapshots of a job go, and what it begins with.
#[derive(Debug, Args)]
#[command(next_help_heading = "Snapshots")]
pub(crate) struct SnapshotArgs {
    /// Where snapshots go: a folder or s3://bucket/path; the k-th job of a script uses its subfolder job-k
    #[arg(long, value_name = "DIR")]
    pub(crate) checkpoint_dir: Option<String>,
    /// From one snapshot to the next [default: 10 s]
    #[arg(long, value_name = "DURATION")]
    pub(crate) checkpoint_interval: Option<String>,
    /// Go on from a snapshot: the latest in the folder (none: from the beginning), or the one at PATH
    #[arg(long, value_name = "latest|PATH", num_args = 0..=1, default_missing_value = "latest", require_equals = false)]
    pub(crate) restore: Option<String>,
    /// Begin anew, whatever snapshots the folder holds; they count no more
    #[arg(long, conflicts_with = "restore")]
    pub(crate) fresh: bool,
    /// On Ctrl-C or SIGTERM take a savepoint and publish the output up to it
    #[arg(long)]
    pub(crate) savepoint_on_stop: bool,
    /// Make storage fail on purpose, as in 'seed=7,fail=0.05,lost=0.05,slow=0.1:200ms'
    #[arg(long, value_name = "FAULTS", hide = true)]
    pub(crate) storage_faults: Option<String>,
}

/// The form in which a query's rows go to standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputKind {
    /// A table: live on a terminal, elsewhere once a bounded query has ended
    Table,
    /// A line for each change: +I, -U, +U or -D, then the cells, separated by tabs
    Changelog,
    /// A JSON object for each change, its kind under "op"
    Json,
    /// CSV with a header; the kind of change comes first where rows are updated
    Csv,
    /// The final rows of a bounded query, sorted, separated by tabs
    FinalTsv,
}

/// Which cluster is meant.
#[derive(Debug, Args)]
pub(crate) struct TargetArgs {
    /// Its coordinator [default: the environment variable RHEOS_TARGET, or 127.0.0.1:7480]
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) target: Option<String>,
    /// The file that holds its token [default: the environment variable RHEOS_TOKEN, or none]
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
}

/// `rheos coordinator`
#[derive(Debug, Args)]
pub(crate) struct CoordinatorArgs {
    /// Where it listens, for workers and for REST; port 0 is any
    #[arg(long, value_name = "HOST:PORT", default_value = rheos::cluster::DEFAULT_ADDRESS)]
    pub(crate) listen: String,
    /// Where jobs and their snapshots are kept: a folder that all processes share, or s3://bucket/path
    #[arg(long, value_name = "DIR", default_value = "rheos-cluster")]
    pub(crate) dir: String,
    /// After how long without a sign of life a worker is lost, and its jobs start again elsewhere
    #[arg(long, value_name = "DURATION", default_value = "10 s", value_parser = duration_ms)]
    pub(crate) heartbeat_timeout: u64,
    /// The file that holds the secret of the cluster: whoever does not know it is refused
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// How the storage is reached, such as s3.endpoint=...
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = pair)]
    pub(crate) set: Vec<(String, String)>,
}

/// `rheos worker`
#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    /// The coordinator
    #[arg(long, value_name = "HOST:PORT", default_value = rheos::cluster::DEFAULT_ADDRESS)]
    pub(crate) coordinator: String,
    /// Where it takes in rows of other workers; port 0 is any
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:0")]
    pub(crate) data_listen: String,
    /// Where other workers reach that, if not there
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) data_address: Option<String>,
    /// Where /metrics can be scraped; port 0 is any
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:0")]
    pub(crate) metrics_listen: String,
    #[command(flatten)]
    pub(crate) offer: OfferArgs,
    /// Keep copies of snapshot files in this folder: where a job starts again on this worker, it reads them there
    #[arg(long, value_name = "DIR")]
    pub(crate) copies: Option<PathBuf>,
    /// How much the copies of one job may take
    #[arg(long, value_name = "SIZE", default_value = "1 gb", value_parser = memory_bytes, requires = "copies")]
    pub(crate) copies_size: u64,
    /// The file that holds the secret of the cluster
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// End when standard input is closed
    #[arg(long, hide = true)]
    pub(crate) until_input_ends: bool,
}

/// What a worker offers.
#[derive(Debug, Clone, Args)]
pub(crate) struct OfferArgs {
    /// How many slots it has: a slot runs one instance of every operator of a job [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) slots: Option<u32>,
    /// How many threads compute; more than cores only disturb each other [default: the number of cores, shared by 'rheos cluster']
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: Option<u32>,
    /// After how long a connection to another worker that cannot be made again is given up, and the job starts again
    #[arg(long, value_name = "DURATION", default_value = "5 s", value_parser = duration_ms)]
    pub(crate) link_timeout: u64,
    /// Compress rows to other workers (LZ4)
    #[arg(long)]
    pub(crate) compress: bool,
}

/// `rheos cluster`
#[derive(Debug, Args)]
pub(crate) struct ClusterArgs {
    /// How many workers
    #[arg(short, long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) workers: u32,
    #[command(flatten)]
    pub(crate) coordinator: CoordinatorArgs,
    #[command(flatten)]
    pub(crate) offer: OfferArgs,
}

/// `rheos submit`
#[derive(Debug, Args)]
pub(crate) struct SubmitArgs {
    #[command(flatten)]
    pub(crate) script: ScriptArgs,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Wait until the jobs have ended
    #[arg(long)]
    pub(crate) wait: bool,
    /// Go on from the snapshot at PATH: a job's folder, or a record of its log; for a script of one job
    #[arg(long, value_name = "PATH")]
    pub(crate) restore: Option<String>,
    /// Write all rows to part files in this folder, whatever the SQL says
    #[arg(long, value_name = "DIR", hide = true)]
    pub(crate) sink_to: Option<PathBuf>,
}

/// `rheos job`
#[derive(Debug, Subcommand)]
pub(crate) enum JobCommand {
    /// How it stands, where its time goes, what holds it back
    Show(JobArgs),
    /// End it at once
    Cancel(JobArgs),
    /// End it, with a savepoint to go on from
    Stop(StopArgs),
    /// Take a savepoint; it goes on
    Savepoint(JobArgs),
    /// What happened to it
    Logs(LogsArgs),
}

/// Which job is meant.
#[derive(Debug, Args)]
pub(crate) struct JobArgs {
    /// Its id, or the beginning of it
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
}

/// `rheos job stop`
#[derive(Debug, Args)]
pub(crate) struct StopArgs {
    #[command(flatten)]
    pub(crate) job: JobArgs,
    /// With a savepoint, which is the default; without one, 'rheos job cancel' ends it
    #[arg(long)]
    pub(crate) savepoint: bool,
}

/// `rheos job logs`
#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    #[command(flatten)]
    pub(crate) job: JobArgs,
    /// Go on until the job has ended
    #[arg(short, long)]
    pub(crate) follow: bool,
}

/// `rheos torture`
#[derive(Debug, Args)]
pub(crate) struct TortureArgs {
    #[command(flatten)]
    pub(crate) script: ScriptArgs,
    /// How often the job's process is killed, if it runs long enough
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) kills: u64,
    /// From which the moments of death and the faults follow [default: at random]
    #[arg(long, value_name = "S")]
    pub(crate) seed: Option<u64>,
    /// From one snapshot to the next
    #[arg(long, value_name = "DURATION", default_value = "200ms")]
    pub(crate) interval: String,
    /// What the job promises
    #[arg(long, value_enum, default_value_t = RecoveryKind::Precise)]
    pub(crate) recovery: RecoveryKind,
    /// Only kill: no failed writes, lost replies and slow storage
    #[arg(long)]
    pub(crate) no_faults: bool,
    /// Keep outputs, snapshots and what each life said, in a new folder
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
}

/// `rheos torture-cluster`
#[derive(Debug, Args)]
pub(crate) struct ClusterTortureArgs {
    #[command(flatten)]
    pub(crate) script: ScriptArgs,
    /// How many workers the cluster has
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) workers: usize,
    /// How many subtasks of an operator a worker has room for [default: so that the job fits where a worker is missing]
    #[arg(long, value_name = "N")]
    pub(crate) slots: Option<usize>,
    /// How many faults befall it, if the job runs long enough
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub(crate) faults: usize,
    /// From which the faults follow [default: at random]
    #[arg(long, value_name = "S")]
    pub(crate) seed: Option<u64>,
    /// After which silence the coordinator takes a worker for dead
    #[arg(long, value_name = "DURATION", default_value = "4 s")]
    pub(crate) heartbeat_timeout: String,
    /// From one snapshot to the next
    #[arg(long, value_name = "DURATION", default_value = "500ms")]
    pub(crate) interval: String,
    /// How long the job may take to finish after the last fault
    #[arg(long, value_name = "DURATION", default_value = "5 min")]
    pub(crate) time_limit: String,
    /// Whether each process gets a host of its own, as network namespaces make it
    #[arg(long, value_enum, default_value_t = NamespacesKind::Auto)]
    pub(crate) namespaces: NamespacesKind,
    /// Keep outputs, snapshots and the logs of all processes, in a new folder
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// The program of the cluster, if it is not this one
    #[arg(long, value_name = "RHEOS", hide = true)]
    pub(crate) program: Option<PathBuf>,
}

/// Whether there are network namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NamespacesKind {
    /// Where root runs this and the machine can
    Auto,
    /// Or else it is an error
    On,
    /// Processes are killed and stopped, but the network stays whole
    Off,
}

/// What a failure may do to the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecoveryKind {
    /// Nothing is lost, and nothing comes twice
    Precise,
    /// Rows may come again
    Rollback,
    /// Rows may be lost
    Gap,
}

/// `rheos explain`
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) script: ScriptArgs,
}

/// `rheos checkpoints`
#[derive(Debug, Subcommand)]
pub(crate) enum CheckpointsCommand {
    /// The jobs at a place and their snapshots
    #[command(after_long_help = help::CHECKPOINTS)]
    List(ListCheckpointsArgs),
    /// One snapshot in detail: operators, states, positions, what is to be committed
    #[command(after_long_help = help::CHECKPOINTS)]
    Show(PlaceArgs),
    /// Read all files of the snapshots and name those that are missing or damaged
    #[command(after_long_help = help::CHECKPOINTS)]
    Verify(PlaceArgs),
}

/// `rheos checkpoints list`
#[derive(Debug, Args)]
pub(crate) struct ListCheckpointsArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// Also who took the job over, and when
    #[arg(long)]
    pub(crate) all: bool,
}

/// Which snapshots are meant.
#[derive(Debug, Args)]
pub(crate) struct PlaceArgs {
    /// A --checkpoint-dir, a job's folder in it, or a record of a job's log; a path or s3://bucket/path
    #[arg(value_name = "PATH")]
    pub(crate) path: String,
    /// A setting, such as s3.endpoint
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = pair)]
    pub(crate) set: Vec<(String, String)>,
}

/// `rheos bench`
#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Run the queries of the Nexmark benchmark over generated events, into a sink that keeps nothing
    #[command(after_long_help = help::BENCH_NEXMARK)]
    Nexmark(NexmarkArgs),
    /// Take snapshots of a large state, first and after some keys changed, and restore them
    #[command(after_long_help = help::BENCH_SNAPSHOTS)]
    Snapshots(SnapshotsArgs),
}

/// `rheos bench snapshots`
#[derive(Debug, Args)]
pub(crate) struct SnapshotsArgs {
    /// The folder for snapshots; what is there counts no more
    #[arg(long, value_name = "DIR")]
    pub(crate) checkpoint_dir: String,
    /// How many keys the state has, with 150 bytes each
    #[arg(short, long, value_name = "N", default_value_t = 1_000_000)]
    pub(crate) keys: u64,
    /// From one snapshot to the next, in seconds: long enough for all keys to be there by the first
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    pub(crate) interval: u64,
    /// How many subtasks an operator runs as before; then it is restored at that and at twice that
    #[arg(short = 'p', long, value_name = "N", default_value_t = 1)]
    pub(crate) parallelism: usize,
}

/// `rheos bench nexmark`
#[derive(Debug, Args)]
pub(crate) struct NexmarkArgs {
    /// Which queries: q0, q5, ..., or all
    #[arg(value_name = "QUERY", default_value = "all")]
    pub(crate) queries: Vec<String>,
    /// How many events are generated for each query
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1_000_000)]
    pub(crate) events: u64,
    /// How many subtasks an operator runs as; 'auto' is the number of cores
    #[arg(short = 'p', long, value_name = "N|auto", default_value = "1")]
    pub(crate) parallelism: String,
    /// A further setting
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = pair)]
    pub(crate) set: Vec<(String, String)>,
    /// Also show the cost and the selectivity of each operator
    #[arg(long)]
    pub(crate) operators: bool,
    /// Measure what snapshots to this folder cost: each query in turn without and with them, three times
    #[arg(long, value_name = "DIR", conflicts_with_all = ["operators", "output"])]
    pub(crate) checkpoint_dir: Option<String>,
    /// From one snapshot to the next
    #[arg(long, value_name = "DURATION", default_value = "1 s", requires = "checkpoint_dir")]
    pub(crate) checkpoint_interval: String,
    /// Also write the figures to a file, a JSON object for each query
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// `rheos connectors`, `rheos functions`
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only those whose name contains this text
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
}

/// `KEY=VALUE`; the value may contain `=` and may be empty.
fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_string(), value.trim().to_string())),
        _ => Err("write it as name=value".into()),
    }
}

/// A duration, in milliseconds.
fn duration_ms(text: &str) -> Result<u64, String> {
    rheos_core::connector::parse_duration_ms(text).map_err(|e| e.to_string())
}

/// An amount of memory, in bytes.
fn memory_bytes(text: &str) -> Result<u64, String> {
    rheos_core::connector::parse_memory_bytes(text).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_value_may_contain_an_equals_sign() {
        assert_eq!(pair("a.b = x=y"), Ok(("a.b".into(), "x=y".into())));
        assert_eq!(pair("a="), Ok(("a".into(), String::new())));
        assert!(pair("a").is_err());
        assert!(pair("=a").is_err());
    }

    #[test]
    fn run_wants_a_script_or_sql() {
        assert!(Cli::try_parse_from(["rheos", "run"]).is_err());
        assert!(Cli::try_parse_from(["rheos", "run", "-e", "SELECT 1"]).is_ok());
        assert!(Cli::try_parse_from(["rheos", "run", "tables.sql", "-e", "SELECT 1", "-o", "final-tsv"]).is_ok());
    }
}
