//! Help texts that teach: what the commands are for, with examples that can be copied.

/// `rheos -h`
pub(crate) const ABOUT: &str = "A stateful stream processor: continuous queries in Flink's SQL";

/// `rheos --help`
pub(crate) const ABOUT_LONG: &str = "\
A stateful stream processor: continuous queries in Flink's SQL, in one process or on
a cluster of them.

A query reads tables that are streams: files, generators, logs. Its result is kept
up to date as rows come, and is exact on rows that come out of order, by event time
and watermarks.";

/// Where to begin.
pub(crate) const START: &str = "\
Begin here:
  rheos run -e \"SELECT 1 + 1 AS two\"    a query
  rheos sql                              a shell: statements as you type them
  rheos run --help                       four worked examples
  rheos connectors                       what can be read and written
  rheos functions date                   functions whose name contains 'date'
  rheos cluster --help                   several processes, several machines";

/// `rheos run --help`
pub(crate) const RUN: &str = r#"EXAMPLES

1. Question a file. Each line is a row; the columns are those of the table, in order:

   $ printf 'north,3\nsouth,5\nnorth,4\n' > sales.csv
   $ cat > sales.sql <<'END'
   CREATE TABLE sales (region STRING, amount INT)
     WITH ('connector' = 'filesystem', 'path' = 'sales.csv', 'format' = 'csv');
   SELECT region, SUM(amount) AS total FROM sales GROUP BY region;
   END
   $ rheos run sales.sql --output final-tsv
   region  total
   north   7
   south   5

   Without --output, the changes that lead there are shown: +I new row, -U and +U
   old and new row of an update, -D row gone.

2. Windows over a live stream: bids at an auction, counted every two seconds of
   event time. On a terminal the table is live, and says what it waits for; q or
   Ctrl-C ends it:

   $ cat > bids.sql <<'END'
   CREATE TABLE events (
     event_type INT,
     bid ROW<auction BIGINT, bidder BIGINT, price BIGINT, channel STRING,
       url STRING, `dateTime` TIMESTAMP(3), extra STRING>,
     at AS bid.`dateTime`,
     WATERMARK FOR at AS at - INTERVAL '1' SECOND
   ) WITH ('connector' = 'nexmark', 'rate.limited' = 'true');
   SELECT window_start, COUNT(*) AS bids, MAX(bid.price) AS highest
   FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(at), INTERVAL '2' SECOND))
   WHERE event_type = 2
   GROUP BY window_start, window_end;
   END
   $ rheos run bids.sql

3. From files to files, with a variable and four subtasks. INSERT runs as a job of
   its own; its files appear when they are whole:

   $ cat > large.sql <<'END'
   CREATE TABLE sales (region STRING, amount INT)
     WITH ('connector' = 'filesystem', 'path' = '${DATA}/*.csv', 'format' = 'csv');
   CREATE TABLE large_sales (region STRING, amount INT)
     WITH ('connector' = 'filesystem', 'path' = 'large', 'format' = 'json');
   INSERT INTO large_sales SELECT region, amount FROM sales WHERE amount > 3;
   END
   $ rheos run large.sql --var DATA=. --parallelism 4

4. A job that survives failures. Snapshots go to a folder (or to s3://bucket/path);
   kill the job in whatever way, even with kill -9, and let it go on:

   $ cat > even.sql <<'END'
   CREATE TABLE numbers (n INT)
     WITH ('connector' = 'datagen', 'rows-per-second' = '100', 'fields.n.kind' =
       'sequence', 'fields.n.start' = '1', 'fields.n.end' = '3000');
   CREATE TABLE even (n INT)
     WITH ('connector' = 'filesystem', 'path' = 'even', 'format' = 'csv');
   INSERT INTO even SELECT n FROM numbers WHERE MOD(n, 2) = 0;
   END
   $ rheos run even.sql --checkpoint-dir snapshots --checkpoint-interval '1 s'
   $ rheos run even.sql --checkpoint-dir snapshots --restore

   In the end the files of 'even' have each number once. --restore goes on from the
   latest snapshot, at any --parallelism, or begins where there is none yet;
   --restore PATH goes on from one that 'rheos checkpoints list snapshots' shows.
   --fresh begins anew. Without either, a folder that holds snapshots is refused.

   With --savepoint-on-stop, Ctrl-C and SIGTERM take a savepoint, make the output up
   to it visible and end the job. The savepoint stays. A second signal aborts.

   What a failure may do to the output, by --set rheos.recovery=...:
     precise   nothing lost, nothing twice, in tables with transactions (filesystem);
               rows are visible when the snapshot they belong to is complete [default]
     rollback  nothing lost, but rows since the last snapshot may come twice
     gap       after a failure the job goes on, empty, at the end of its input
   What went to standard output stays there, and what waited for its snapshot is lost
   with the process: write to a table to have each row once.

SETTINGS come from, strongest first: --set and --parallelism, SET in the script,
the environment (RHEOS_PARALLELISM_DEFAULT is parallelism.default), rheos.toml in
the working directory, defaults.

${NAME} in a script stands for --var NAME=..., or else for the environment's
variable; ${NAME:-text} has a default.

EXIT CODES: 0 done, 1 a statement or the configuration is wrong (then nothing has
run), 2 a job failed, 3 interrupted before the end."#;

/// `rheos sql --help`
pub(crate) const SQL: &str = r#"EXAMPLES

1. Try things out. A statement ends with ';', Enter before that begins a new line, Tab
   completes, 'help' lists the commands:

   $ rheos sql
   rheos> CREATE TABLE numbers (n INT) WITH ('connector' = 'datagen',
       ->   'rows-per-second' = '5');
   ok
   rheos> SELECT COUNT(*) AS numbers, SUM(n) AS total FROM numbers;

   The result is live; q, Esc or Ctrl-C ends the query and leads back to the prompt. A
   query over input that ends leaves its final rows. Ctrl-D leaves the shell.

2. Keep what you define. CREATE TABLE, VIEW, FUNCTION and SET that succeeded go to the
   file, DROP and RESET take them out again; the next session begins with them. What
   says TEMPORARY is not kept, and INSERTs and queries are not:

   $ rheos sql --catalog tables.sql

3. Without a terminal, statements are read from standard input and carried out as
   'rheos run -' does, with its forms of output and exit codes:

   $ rheos sql --catalog tables.sql -o csv -e 'SELECT * FROM sales' > sales.csv
   $ echo 'SHOW TABLES;' | rheos sql --catalog tables.sql

Settings, ${NAME} and snapshots are as for 'rheos run'. The k-th job of a session has
the subfolder job-k of --checkpoint-dir.

EXIT CODES: 0 left, or done; on a terminal 1 if the shell cannot begin: a script of
--init or the catalog is wrong, and 3 after SIGTERM; otherwise those of 'rheos run'."#;

/// `help` in the shell.
pub(crate) const SHELL: &str = r"Statements end with ';' and may span lines; several may come at once. ${NAME} stands
for a value of --var or of the environment.

  help, \?                this text
  \d                      tables and views, as SHOW TABLES
  \d NAME                 the columns of one, as DESCRIBE NAME
  SOURCE 'FILE', \i FILE  the statements of a file, up to the first that fails
  clear                   clears the screen
  quit, exit, \q          leaves, as Ctrl-D does

  Tab                     completes keywords, names, functions, settings and options
  Ctrl-R                  searches the history; Up and Down go through it
  Alt-Enter               begins a new line, also where a statement is complete
  Ctrl-C                  drops what is written
  q, Esc, Ctrl-C          end a query that runs; Ctrl-C ends an INSERT

With --catalog FILE these are kept for the next session once they have succeeded:
CREATE TABLE, CREATE VIEW (unless TEMPORARY) and SET. DROP and RESET take them out
again. All else is not kept: queries, INSERTs, and the statements of --init.
";

/// `rheos coordinator`, `worker`, `cluster`, `submit`: `--help`
pub(crate) const CLUSTER: &str = r#"EXAMPLES

1. A cluster of processes on this machine, and a job that runs on it:

   $ rheos cluster --workers 2 --dir cluster &
   $ rheos submit job.sql -p 2
   3f2a90c1d4e7
   $ rheos jobs
   $ rheos job show 3f2a        what it does, and what holds it back
   $ rheos job logs 3f2a -f
   $ rheos job stop 3f2a        ends it with a savepoint
   $ rheos submit job.sql --restore cluster/jobs/3f2a90c1d4e7

   'rheos run --target 127.0.0.1:7480 query.sql' runs a query there, and shows its
   rows here.

2. Several machines. They share the folder of snapshots (or use s3://bucket/path),
   and a token, since what listens on more than loopback is open to the network:

   on host a:  $ rheos coordinator --listen a:7480 --dir /shared/rheos \
                   --token-file token
   on host b:  $ rheos worker --coordinator a:7480 --data-listen b:7481 \
                   --token-file token
   anywhere:   $ rheos submit job.sql --target a:7480 --token-file token

A job takes as many slots as its widest operator has instances (-p). One that finds
too few waits, and 'rheos jobs' says for what. Snapshots are taken every ten seconds
(SET 'execution.checkpointing.interval'). When a worker is lost, its jobs start again
by themselves from the last one, on the workers that are left or come. A coordinator
that starts again finds its jobs in --dir and goes on with them.

REST is at the coordinator's address: /api/v1/jobs, /api/v1/workers, the document
/api/v1/openapi.json; numbers for Prometheus at /metrics, and at each worker's."#;

/// `rheos explain --help`
pub(crate) const EXPLAIN: &str = r#"EXAMPLE

   $ rheos explain sales.sql
   $ rheos explain -e "SELECT 1"

Shows, for each query and INSERT of a script, the plan and the tasks that would run.
The plan has for each operator the kinds of changes that it puts out: I insert, UB
and UA old and new row of an update, D delete."#;

/// `rheos torture --help`
pub(crate) const TORTURE: &str = r#"EXAMPLE

   $ cat > sums.sql <<'END'
   CREATE TABLE numbers (n BIGINT, k BIGINT) WITH ('connector' = 'datagen',
     'number-of-rows' = '50000', 'rows-per-second' = '5000',
     'fields.k.min' = '0', 'fields.k.max' = '99');
   SELECT k, COUNT(*) AS numbers, SUM(n) AS total FROM numbers GROUP BY k;
   END
   $ rheos torture sums.sql --kills 20

Runs a script with exactly one INSERT or query, over input that ends, once without
failure. Then runs it again while its process is killed at random moments, writes of
its snapshots fail, replies of storage and of commits get lost, and storage is slow;
goes on from the latest snapshot each time, until the job has finished. Compares the
outputs: rows that are only added one by one, updated ones as the final table.

Rows go to a folder of the torture's own, not to the table that the script names. The
job must be one that gives the same rows each time: without PROCTIME() and NOW(), and
with a 'base-time' where the connector nexmark is limited to real time.

precise    no row may be lost, duplicated or changed
rollback   no row may be lost; says how rows come again: repeating, convergent or
           divergent
gap        rows may be lost; they are counted

EXIT CODES: 0 the job kept its promise, 1 a statement or the configuration is wrong,
2 it broke it, or did not finish."#;

/// `rheos torture-cluster --help`
pub(crate) const TORTURE_CLUSTER: &str = r#"EXAMPLE

   $ sudo rheos torture-cluster nexmark:q5 nexmark:q17 --faults 60

Runs each script, of exactly one INSERT or query over input that ends, in one process
without faults. Then starts a coordinator and workers, each on a host of its own (a
network namespace, which needs root and iproute2), submits the script, and has faults
befall them, one after the other and sometimes two at a time:

- a worker is killed, and started again within three seconds
- a worker stands still, for less or more than the heartbeat time-out, and goes on
- two workers, or a worker and the coordinator, do not hear each other, or one of them
- the network of a worker is slow, narrow, loses packets or is gone for moments
- the coordinator is killed: at any time, in a snapshot, in a commit, in a deployment

When the job has finished, compares the outputs: rows that are only added one by one,
updated ones as the final table. Tells how long it took after each kill until the job
ran, read rows and showed output again.

Without root the processes are on this host, and are only killed and stopped. Delays
and losses need the kernel's netem (sch_netem); where it is missing that is said.

The script has to be one that gives the same rows each time (rheos torture --help),
and should take its time. nexmark:q5 stands for a query of the Nexmark benchmark whose
events come in real time for as long as the faults do, --var RATE=2000 a second. In a
script of yours ${PACED} is false in the run without faults and true in the cluster.

EXIT CODES: 0 each row is there once, the job has finished and left nothing behind,
1 a statement, the configuration or the cluster's start is wrong, 2 it is not so."#;

/// `rheos checkpoints ... --help`
pub(crate) const CHECKPOINTS: &str = r#"EXAMPLES

   the jobs of a folder, and the path of each snapshot that --restore takes:
   $ rheos checkpoints list snapshots
   the latest snapshot of a job, operator by operator:
   $ rheos checkpoints show snapshots/job-1
   every file of every snapshot, read and compared with its hash:
   $ rheos checkpoints verify snapshots
   on S3:
   $ rheos checkpoints list s3://bucket/dir --set s3.endpoint=http://localhost:9000

Nothing is written, so that a running job is not disturbed. Output is in tables on a
terminal, and separated by tabs elsewhere.

EXIT CODES: 0 done, 1 there is nothing at PATH, 2 something is missing or damaged."#;

/// `rheos bench nexmark --help`
pub(crate) const BENCH_NEXMARK: &str = r#"EXAMPLES

   all queries, a million events each:
   $ rheos bench nexmark
   two queries, and where their time goes:
   $ rheos bench nexmark q0 q5 --events 10000000 --operators

The events come from the connector 'nexmark', as fast as they can be made; making
them is part of what is measured. The queries are those of the public benchmark for
Flink that need no processing time. 'cpu s' is the user and system time of the whole
process, on all cores; 'ns/event' is that time divided by the number of events."#;

pub(crate) const BENCH_SNAPSHOTS: &str = r#"EXAMPLES

   about a gigabyte of state:
   $ rheos bench snapshots --checkpoint-dir /tmp/bench --keys 6000000 --interval 60

A GROUP BY gets every key once and keeps a count and the greatest of its texts. The
first snapshot holds all keys; until the second, rows come for the first hundredth of
them. Then the job is ended and restored from the second, as it was and at twice the
parallelism; 'restored' is the time from the start of the job until its operators
have all their state."#;

#[cfg(test)]
mod tests {
    #[test]
    fn no_line_is_broken_by_a_narrow_terminal() {
        let texts = [
            super::ABOUT_LONG,
            super::START,
            super::RUN,
            super::SQL,
            super::SHELL,
            super::CLUSTER,
            super::EXPLAIN,
            super::TORTURE,
            super::TORTURE_CLUSTER,
            super::CHECKPOINTS,
            super::BENCH_NEXMARK,
            super::BENCH_SNAPSHOTS,
        ];
        for text in texts {
            for line in text.lines() {
                assert!(line.chars().count() <= 86, "{line}");
            }
        }
    }
}
