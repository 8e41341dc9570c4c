//! On a terminal.

use std::fs;
use std::process::Command;

use crate::terminal::Terminal;

const ENDLESS: &str = "CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '1000', \
    'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '1000000000');";

#[test]
fn a_session_from_first_statement_to_last() {
    let folder = tempfile::tempdir().expect("an empty folder");
    fs::write(folder.path().join("sales.csv"), "north,3\nsouth,5\nnorth,4\n").expect("a file to read");
    let mut terminal = Terminal::start(folder.path(), &[]);
    terminal.wait_for_prompt();

    // A statement over several lines.
    terminal.enter("CREATE TABLE sales (region STRING, amount INT)");
    terminal.wait_for("    ->");
    terminal.enter("WITH ('connector' = 'filesystem', 'path' = 'sales.csv', 'format' = 'csv'); -- done");
    terminal.wait_for("\nok\n");
    terminal.wait_for_prompt();

    // Its result stays.
    terminal.enter("SELECT region, SUM(amount) AS total FROM sales GROUP BY region;");
    let shown = terminal.wait_for("2 rows in");
    assert!(shown.contains("north  ┆     7") && shown.contains("south  ┆     5"), "{shown}");
    terminal.wait_for_prompt();

    // Completion: of a table, and of a column of it.
    terminal.clear();
    terminal.type_keys("select regi\t");
    terminal.wait_for("rheos> select region");
    terminal.type_keys(" from sa\t");
    terminal.wait_for("rheos> select region from sales");
    terminal.enter(" where amount = 5;");
    terminal.wait_for("1 row in");
    terminal.wait_for_prompt();

    // An error has its place, and the session goes on.
    terminal.clear();
    terminal.enter("SELECT regoin FROM sales;");
    let shown = terminal.wait_for("did you mean 'region'?");
    let lines: Vec<&str> = shown.lines().map(str::trim_end).collect();
    assert!(lines.contains(&"  --> statement:1:8") && lines.contains(&"   |        ^"), "{shown}");
    terminal.wait_for_prompt();
    terminal.enter("\\d");
    terminal.wait_for("table name");
    terminal.wait_for_prompt();
    terminal.enter("\\d sales");
    terminal.wait_for("amount ┆ INT");
    terminal.wait_for_prompt();
    terminal.enter("\\nope");
    terminal.wait_for("no command '\\nope'");
    terminal.wait_for_prompt();

    terminal.enter("help");
    terminal.wait_for("searches the history");
    terminal.wait_for_prompt();
    terminal.enter("quit");
    let (status, shown) = terminal.end();
    assert_eq!(status.code(), Some(0), "{shown}");
}

#[test]
fn a_query_that_does_not_end_is_left_by_its_keys() {
    let folder = tempfile::tempdir().expect("an empty folder");
    let mut terminal = Terminal::start(folder.path(), &["--no-history"]);
    terminal.wait_for_prompt();
    terminal.enter(ENDLESS);
    terminal.wait_for("\nok\n");
    for key in ["q", "\x1b", "\x03"] {
        terminal.wait_for_prompt();
        terminal.clear();
        terminal.enter("SELECT COUNT(*) AS seen FROM numbers;");
        terminal.wait_for("· q ends");
        terminal.type_keys(key);
        terminal.wait_for_prompt();
    }
    // The terminal is as it was: an INSERT is ended by a signal.
    terminal.clear();
    terminal.enter("CREATE TABLE hole (n BIGINT) WITH ('connector' = 'blackhole');");
    terminal.wait_for("\nok\n");
    terminal.wait_for_prompt();
    terminal.enter("INSERT INTO hole SELECT n FROM numbers;");
    terminal.wait_for("in 1.");
    terminal.type_keys("\x03");
    terminal.wait_for("interrupted: the job is ended\n");
    terminal.wait_for_prompt();
    // Ctrl-C drops what is written, Ctrl-D leaves.
    terminal.type_keys("SELECT nothing");
    terminal.wait_for("rheos> SELECT nothing");
    terminal.type_keys("\x03");
    terminal.wait_for_prompt();
    terminal.type_keys("\x04");
    assert_eq!(terminal.end().0.code(), Some(0));
}

#[test]
fn entries_are_found_again_by_the_next_session() {
    let folder = tempfile::tempdir().expect("an empty folder");
    let mut terminal = Terminal::start(folder.path(), &[]);
    terminal.wait_for_prompt();
    terminal.enter("SELECT 41 + 1 AS answer;");
    terminal.wait_for("1 row in");
    terminal.wait_for_prompt();
    terminal.enter("SELECT 2 AS other;");
    terminal.wait_until("a second result", |shown| shown.matches("1 row in").count() == 2);
    terminal.wait_for_prompt();
    terminal.type_keys("\x04");
    assert_eq!(terminal.end().0.code(), Some(0));
    let history = fs::read_to_string(folder.path().join("state/rheos/sql_history")).expect("the history");
    assert_eq!(history, "SELECT 41 + 1 AS answer;\nSELECT 2 AS other;\n");

    let mut terminal = Terminal::start(folder.path(), &[]);
    terminal.wait_for_prompt();
    terminal.type_keys("\x1241");
    terminal.wait_for("SELECT 41 + 1 AS answer;");
    terminal.enter("");
    terminal.wait_for("rheos> SELECT 41");
    terminal.enter("");
    terminal.wait_for("1 row in");
    terminal.wait_for_prompt();
    terminal.enter("exit");
    assert_eq!(terminal.end().0.code(), Some(0));
}

#[test]
fn scripts_and_the_catalog_are_there_from_the_beginning() {
    let folder = tempfile::tempdir().expect("an empty folder");
    fs::write(folder.path().join("more.sql"), "CREATE VIEW v AS\n SELECT 1 AS a;\nSELECT nothing FROM v;\nCREATE VIEW w AS SELECT 2 AS b;")
        .expect("a script");
    let mut terminal = Terminal::start(folder.path(), &["--catalog", "tables.sql", "--no-history"]);
    terminal.wait_for_prompt();
    terminal.enter("SOURCE 'more.sql'; SELECT 0 AS never;");
    let shown = terminal.wait_for("more.sql:3:8");
    assert!(shown.contains("ok, kept in 'tables.sql'"), "{shown}");
    let shown = terminal.wait_for_prompt();
    assert!(!shown.contains("1 row in"), "what came after the error was carried out: {shown}");
    terminal.enter("CREATE TABLE t (a INT) WITH ('connector' = 'datagen'); CREATE VIEW x AS SELECT a FROM t; DROP TABLE t;");
    terminal.wait_for("the next session cannot load it");
    terminal.wait_for_prompt();
    terminal.enter("DROP VIEW x;");
    terminal.wait_for_prompt();
    terminal.enter("\\q");
    assert_eq!(terminal.end().0.code(), Some(0));
    let kept = fs::read_to_string(folder.path().join("tables.sql")).expect("the catalog");
    assert!(kept.ends_with("\nCREATE VIEW v AS\n SELECT 1 AS a;\n"), "what came after the error was not carried out: {kept}");

    let mut terminal = Terminal::start(folder.path(), &["--catalog", "tables.sql", "--no-history"]);
    terminal.wait_for_prompt();
    terminal.enter("SELECT a FROM v;");
    terminal.wait_for("1 row in");
    terminal.wait_for_prompt();
    let told = Command::new("kill").args(["-TERM", &terminal.id().to_string()]).status().expect("kill runs");
    assert!(told.success());
    assert_eq!(terminal.end().0.code(), Some(3), "SIGTERM ends the shell at the prompt");
}
