//! Without a terminal.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Exit code, standard output and standard error of `rheos COMMAND...` with this on standard input.
fn piped(folder: &Path, args: &[&str], input: &str) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rheos"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("RHEOS_")) {
        command.env_remove(name);
    }
    command.args(args).current_dir(folder).env("HOME", folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("rheos starts");
    // Where the arguments are wrong nobody reads it.
    drop(child.stdin.take().expect("standard input is a pipe").write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("a text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn statements_of_a_pipe_are_carried_out_as_by_run() {
    let folder = tempfile::tempdir().expect("an empty folder");
    let scripts = [
        "CREATE VIEW v AS SELECT x FROM (VALUES (1), (2)) AS t (x); SHOW TABLES; SELECT SUM(x) AS s FROM v",
        "SELECT 1 AS a;\nSELECT nothing FROM nowhere;",
        "SELECT 1 +;",
        "",
    ];
    for script in scripts {
        for form in ["changelog", "csv", "table", "final-tsv"] {
            let by_shell = piped(folder.path(), &["sql", "-o", form], script);
            assert_eq!(by_shell, piped(folder.path(), &["run", "-", "-o", form], script), "{script} as {form}");
        }
    }
    let (code, out, _) = piped(folder.path(), &["sql"], scripts[0]);
    assert_eq!((code, out.as_str()), (Some(0), "table name\nv\n+I\t3\n"));
    assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 0, "no history is written");
}

#[test]
fn definitions_are_kept_and_a_dropped_one_is_not() {
    let folder = tempfile::tempdir().expect("an empty folder");
    let sql = |sql: &str| piped(folder.path(), &["sql", "--catalog", "tables.sql", "-e", sql], "");
    let (code, _, err) = sql("CREATE VIEW one AS SELECT 1 AS a; CREATE TEMPORARY VIEW tmp AS SELECT 0 AS z; SET 'pipeline.name' = 'mine'");
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert_eq!(
        sql("CREATE VIEW two AS SELECT a + 1 AS b FROM one; SHOW TABLES; SET").1,
        "table name\none\ntwo\nkey\tvalue\npipeline.name\tmine\n"
    );
    assert_eq!(sql("DROP VIEW two; SELECT a FROM one").1, "+I\t1\n");
    let kept = fs::read_to_string(folder.path().join("tables.sql")).expect("the catalog");
    assert!(
        kept.starts_with("-- Kept by 'rheos sql --catalog'.")
            && kept.ends_with("\nCREATE VIEW one AS SELECT 1 AS a;\n\nSET 'pipeline.name' = 'mine';\n"),
        "{kept}"
    );
}

#[test]
fn a_wrong_statement_keeps_nothing_of_its_script() {
    let folder = tempfile::tempdir().expect("an empty folder");
    let (code, out, err) =
        piped(folder.path(), &["sql", "--catalog", "tables.sql"], "CREATE VIEW one AS SELECT 1 AS a; SELECT b FROM one;");
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(err.contains("no column 'b'") && err.contains("standard input:1:42"), "{err}");
    assert!(!folder.path().join("tables.sql").exists());
}

#[test]
fn a_catalog_that_no_longer_loads_is_told_and_left_alone() {
    let folder = tempfile::tempdir().expect("an empty folder");
    let path = folder.path().join("tables.sql");
    let text = "-- by hand\nCREATE VIEW good AS SELECT 1 AS a;\nCREATE VIEW bad AS SELECT a\n  FROM gone;";
    fs::write(&path, text).expect("a catalog");
    let (code, out, err) = piped(folder.path(), &["sql", "--catalog", "tables.sql"], "CREATE VIEW more AS SELECT 1 AS a;");
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(err.starts_with("error: no table or view 'gone'\n  --> tables.sql:4:8\n"), "{err}");
    assert_eq!(fs::read_to_string(&path).expect("the catalog"), text);
}

#[test]
fn scripts_of_init_come_first_and_are_not_kept() {
    let folder = tempfile::tempdir().expect("an empty folder");
    fs::write(folder.path().join("init.sql"), "CREATE VIEW base AS SELECT ${N} AS a").expect("a script");
    let args = ["sql", "--init", "init.sql", "--var", "N=7", "--catalog", "tables.sql", "-e"];
    let sql = |sql: &'static str| piped(folder.path(), &[&args[..], &[sql]].concat(), "");
    let (code, out, err) = sql("CREATE VIEW more AS SELECT a + 1 AS b FROM base; SELECT b FROM more");
    assert_eq!((code, out.as_str(), err.as_str()), (Some(0), "+I\t8\n", ""));
    assert_eq!(sql("SELECT b FROM more").1, "+I\t8\n");
    assert!(!fs::read_to_string(folder.path().join("tables.sql")).expect("the catalog").contains("base AS"));
}
