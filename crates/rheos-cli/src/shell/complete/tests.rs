//! Completion, with `|` where the cursor stands.

use rheos::Session;

use super::*;

fn names() -> Names {
    let mut session = Session::new();
    let sql = "CREATE TABLE bids (auction BIGINT, price INT, `order` STRING, `my col` INT) WITH ('connector' = 'datagen'); \
        CREATE TABLE Auctions (id BIGINT, item STRING) WITH ('connector' = 'datagen'); \
        CREATE VIEW big_bids AS SELECT auction AS lot FROM bids";
    for parsed in session.parse(sql).unwrap() {
        session.prepare(&parsed.statement).unwrap();
    }
    Names::of(&session)
}

fn completion(marked: &str) -> Completion {
    let cursor = marked.find('|').expect("a cursor");
    complete(&marked.replacen('|', "", 1), cursor, &names())
}

fn offered(marked: &str) -> Vec<String> {
    completion(marked).candidates.into_iter().map(|c| c.text).collect()
}

#[track_caller]
fn offers(marked: &str, expected: &[&str]) {
    let offered = offered(marked);
    for text in expected {
        assert!(offered.iter().any(|o| o == text), "{marked} offers no {text}: {offered:?}");
    }
}

#[track_caller]
fn offers_only(marked: &str, expected: &[&str]) {
    assert_eq!(offered(marked), expected, "{marked}");
}

#[test]
fn a_statement_begins_with_its_keywords_and_commands() {
    offers_only("SEL|", &["SELECT"]);
    offers_only("cre|", &["create table", "create view", "create temporary table", "create temporary view"]);
    offers("|", &["SELECT", "SET", "help", "quit", "SOURCE"]);
    offers_only("SELECT 1; DESC|", &["DESCRIBE"]);
    offers_only("EXPLAIN SEL|", &["SELECT"]);
}

#[test]
fn keywords_are_in_the_case_of_what_is_typed() {
    offers("SELECT price fr|", &["from"]);
    offers("select price FR|", &["FROM"]);
    offers("select price Fr|", &["FROM"]);
    offers("select * from bids |", &["where", "group by"]);
    offers("SELECT * FROM bids |", &["WHERE", "GROUP BY"]);
    offers("select coun|", &["count("]);
    offers("SELECT COUN|", &["COUNT("]);
}

#[test]
fn tables_and_views_come_where_tables_stand() {
    offers_only("SELECT * FROM |", &["Auctions", "bids", "big_bids"]);
    offers_only("SELECT * FROM b|", &["bids", "big_bids"]);
    offers_only("select * from auc|", &["Auctions"]);
    offers_only("SELECT * FROM bids, Au|", &["Auctions"]);
    offers_only("SELECT * FROM bids b JOIN Au|", &["Auctions"]);
    offers_only("INSERT INTO bi|", &["bids", "big_bids"]);
    offers_only("DROP TABLE IF EXISTS Au|", &["Auctions"]);
    offers_only("DESCRIBE big|", &["big_bids"]);
    offers_only("\\d big|", &["big_bids"]);
    offers_only("SELECT * FROM TABLE(TUMBLE(TABLE bid|", &["bids"]);
    offers_only("SELECT * FROM TABLE(TUM|", &["TUMBLE("]);
}

#[test]
fn columns_are_those_of_the_tables_in_the_statement() {
    offers("SELECT pr| FROM bids", &["price"]);
    offers("SELECT | FROM bids", &["auction", "price", "`order`", "`my col`"]);
    assert!(!offered("SELECT i| FROM bids").contains(&"item".to_string()), "this is of another table");
    offers("SELECT * FROM bids WHERE auc|", &["auction"]);
    offers("SELECT lo| FROM big_bids", &["lot"]);
    offers("SELECT ite|", &["item"]);
    offers("INSERT INTO Auctions (i|", &["id", "item"]);
    offers("SELECT `my| FROM bids", &["`my col`"]);
}

#[test]
fn a_point_asks_for_columns_of_an_alias() {
    offers_only("SELECT b.| FROM bids AS b JOIN Auctions a ON TRUE", &["auction", "price", "`order`", "`my col`"]);
    offers_only("SELECT b.price FROM bids AS b JOIN Auctions a ON a.i|", &["id", "item"]);
    offers_only("SELECT bids.pr| FROM bids", &["price"]);
    offers_only("SELECT x.| FROM bids", &[]);
}

#[test]
fn options_are_those_of_the_connector() {
    offers_only("CREATE TABLE t (a INT) WITH (|", &["'connector' = '"]);
    offers_only("CREATE TABLE t (a INT) WITH ('connector' = 'file|", &["'filesystem'"]);
    offers_only("CREATE TABLE t (a INT) WITH ('connector' = 'filesystem', 'pat|", &["'path' = '"]);
    offers_only("CREATE TABLE t (a INT) WITH ('connector' = 'filesystem', 'format' = 'c|", &["'csv'"]);
    offers(
        "CREATE TABLE t (a INT) WITH ('connector' = 'filesystem', 'format' = 'csv', 'csv.|",
        &["'csv.field-delimiter' = '", "'csv.ignore-first-line' = '"],
    );
    offers("CREATE TABLE t (a INT, b INT) WITH ('connector' = 'datagen', 'fields.|", &["'fields.a.kind' = '", "'fields.b.kind' = '"]);
    assert!(!offered("CREATE TABLE t (a INT) WITH ('connector' = 'datagen', |").iter().any(|o| o.contains("connector")), "it is given");
    offers_only("WITH a AS (SELECT 1) SELECT * FROM a WHERE x IN ('|", &[]);
}

#[test]
fn settings_come_after_set_and_reset() {
    offers_only("SET 'parallelism.d|", &["'parallelism.default' = '"]);
    offers_only("set par|", &["'parallelism.default' = '"]);
    offers_only("RESET 'parallelism|", &["'parallelism.default'"]);
    offers_only("SET 'pipeline.name' = '|", &[]);
}

#[test]
fn types_come_after_the_name_of_a_column() {
    offers_only("CREATE TABLE t (a BIG|", &["BIGINT"]);
    offers_only("create table t (a int, b strin|", &["string"]);
    offers_only("CREATE TABLE t (a ARRAY<DOU|", &["DOUBLE"]);
    offers_only("SELECT CAST(price AS BIG| FROM bids", &["BIGINT"]);
    offers_only("CREATE TABLE t|", &[]);
    offers("CREATE TABLE t (at TIMESTAMP(3), WATERMARK FOR a|", &["at"]);
    offers("CREATE TABLE t (a INT, WAT|", &["WATERMARK FOR"]);
}

#[test]
fn files_come_after_source() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().display().to_string();
    std::fs::write(folder.path().join("tables.sql"), "").unwrap();
    std::fs::write(folder.path().join("table.csv"), "").unwrap();
    std::fs::create_dir(folder.path().join("tall")).unwrap();
    offers_only(&format!("SOURCE '{dir}/ta|"), &[&format!("'{dir}/tables.sql'"), &format!("'{dir}/tall/")]);
    offers_only(&format!("SOURCE '{dir}/nowhere/|"), &[]);
}

#[test]
fn nothing_is_offered_in_texts_comments_and_numbers() {
    for marked in ["SELECT 'SEL|", "SELECT 1 -- SEL|", "/* SEL| */", "SELECT 1|", "SELECT SELECT|"] {
        offers_only(marked, &[]);
    }
}

#[test]
fn what_is_replaced_begins_with_the_word() {
    assert_eq!(completion("SELECT pr| FROM bids").start, 7);
    assert_eq!(completion("SET 'par|").start, 4);
    assert_eq!(completion("SELECT `my| FROM bids").start, 7);
    assert_eq!(completion("-- größer\nSEL|").start, 12);
}

#[test]
fn no_text_and_no_cursor_is_too_much() {
    let names = names();
    for text in [
        "",
        "\\",
        "'",
        "`",
        "(",
        ")",
        ")(",
        "a.",
        ".",
        "SELECT größer FROM `ü",
        "SET",
        "CREATE TABLE",
        "CREATE TABLE (",
        "🦀.🦀",
        ";;",
        "\\d",
        "WITH (",
    ] {
        for cursor in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
            complete(text, cursor, &names);
        }
    }
}
