//! Plans and job graphs of queries over made-up tables.

use std::sync::Arc;

use rheos_core::changelog::ChangelogMode;
use rheos_core::connector::{Comparison, ConnectorInfo, PredicateValue, TableSpec};
use rheos_core::operator::OperatorContext;
use rheos_core::registry::Registry;
use rheos_core::sink::{Sink, SinkDescription, SinkFactory};
use rheos_core::source::{SourceDescription, SourceFactory, SourceReader, Split};
use rheos_core::{Error, Result};
use rheos_expr::EvalConfig;
use rheos_graph::{JobGraph, NodeKind};
use rheos_operators::spec::{GroupAggregateSpec, JoinKind, Windowing};
use serde_json::Value;

use crate::binder::Binder;
use crate::catalog::{Catalog, Relation, View};
use crate::lower::{AggregatePhases, LengthEnforcer, LowerOptions, Lowering, NotNullEnforcer};
use crate::parser::{self, Statement};
use crate::plan::{Plan, Rel};
use crate::{SqlError, SqlResult, optimizer};

mod scans;

/// A connector that reads nothing, applies equality with integers and texts, and takes what its option says.
struct Fake;

impl SourceFactory for Fake {
    fn describe(&self, table: &TableSpec) -> Result<SourceDescription> {
        let applied =
            |p: &rheos_core::connector::Predicate| p.comparison == Comparison::Equal && !matches!(p.value, PredicateValue::Bool(_));
        let changelog = match table.option("changes") {
            None => ChangelogMode::InsertOnly,
            Some("upsert") => ChangelogMode::Upsert,
            Some(_) => ChangelogMode::Retract,
        };
        Ok(SourceDescription { changelog, bounded: true, predicates_applied: table.predicates.iter().map(applied).collect() })
    }

    fn splits(&self, _table: &TableSpec, _parallelism: usize) -> Result<Vec<Split>> {
        Ok(vec![])
    }

    fn reader(&self, _table: &TableSpec, _splits: Vec<Split>, _context: &OperatorContext) -> Result<Box<dyn SourceReader>> {
        Err(Error::bug("nothing is read in these tests"))
    }
}

impl SinkFactory for Fake {
    fn describe(&self, table: &TableSpec) -> Result<SinkDescription> {
        let accepts = match table.option("accepts") {
            Some("upsert") => ChangelogMode::Upsert,
            Some("inserts") => ChangelogMode::InsertOnly,
            _ => ChangelogMode::Retract,
        };
        Ok(SinkDescription { accepts })
    }

    fn writer(&self, _table: &TableSpec, _context: &OperatorContext) -> Result<Box<dyn Sink>> {
        Err(Error::bug("nothing is written in these tests"))
    }
}

const TABLES: &str = "
CREATE TABLE events (kind INT, person ROW<id BIGINT, name STRING, at TIMESTAMP(3)>, bid ROW<auction BIGINT, price BIGINT, at TIMESTAMP(3)>,
  at AS CASE WHEN kind = 0 THEN person.at ELSE bid.at END, WATERMARK FOR at AS at - INTERVAL '4' SECOND) WITH ('connector' = 'fake');
CREATE VIEW bid AS SELECT bid.auction, bid.price, at FROM events WHERE kind = 2;
CREATE TABLE t (a INT, b INT, c STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'fake');
CREATE TABLE u (a INT, d INT) WITH ('connector' = 'fake');
CREATE TABLE texts (n INT, s STRING, d DATE) WITH ('connector' = 'fake');
CREATE TABLE late (a INT, at TIMESTAMP(3), WATERMARK FOR at AS at) WITH ('connector' = 'fake');
CREATE TABLE rates (a INT, rate INT, at TIMESTAMP(3), PRIMARY KEY (a) NOT ENFORCED, WATERMARK FOR at AS at) WITH ('connector' = 'fake');
CREATE TABLE accounts (id INT, name STRING, v INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'fake', 'changes' = 'upsert');
CREATE TABLE keyless (id INT, v INT) WITH ('connector' = 'fake', 'changes' = 'upsert');
CREATE TABLE cdc (id INT, v INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'fake', 'changes' = 'true');
";

struct World {
    catalog: Catalog,
    registry: Registry,
}

impl World {
    fn new() -> World {
        let mut registry = Registry::new();
        let options = ["changes", "accepts"].map(|key| rheos_core::connector::OptionInfo::optional(key, "", "")).to_vec();
        let (source, sink) = (Some(Arc::new(Fake) as Arc<dyn SourceFactory>), Some(Arc::new(Fake) as Arc<dyn SinkFactory>));
        registry.add_connector(ConnectorInfo { name: "fake", doc: "", options, takes_format: false, source, sink });
        let mut world = World { catalog: Catalog::default(), registry };
        for parsed in parser::parse(TABLES).unwrap() {
            match parsed.statement {
                Statement::CreateTable(create) => {
                    let table = world.binder().bind_create_table(&create).unwrap();
                    world.catalog.add(&create.name, Relation::Table(Arc::new(table)), false).unwrap();
                }
                Statement::CreateView(create) => {
                    let view = View { query: create.query, columns: create.columns };
                    world.catalog.add(&create.name, Relation::View(Arc::new(view)), false).unwrap();
                }
                other => panic!("{other:?}"),
            }
        }
        world
    }

    fn binder(&self) -> Binder<'_> {
        Binder::new(&self.catalog, &self.registry)
    }

    fn plan(&self, sql: &str) -> SqlResult<Plan> {
        let Statement::Query(query) = parser::parse(sql)?.remove(0).statement else { panic!("no query: {sql}") };
        optimizer::optimize(self.binder().bind(&query)?, &self.registry)
    }

    fn job(&self, sql: &str, accepts: &str) -> SqlResult<JobGraph> {
        let plan = self.plan(sql)?;
        let options = LowerOptions {
            parallelism: 2,
            per_row_watermarks: false,
            config: EvalConfig::default(),
            state_ttl_ms: None,
            aggregate_phases: AggregatePhases::One,
            not_null_enforcer: NotNullEnforcer::Error,
            length_enforcer: LengthEnforcer::Ignore,
            lookup_timeout_ms: 1_000,
            cdc_duplicates: false,
        };
        let mut lowering = Lowering::new("test", &self.registry, options);
        let options = [("connector".to_string(), "fake".to_string()), ("accepts".to_string(), accepts.to_string())].into();
        let (name, connector) = ("out".into(), "fake".into());
        let table = TableSpec {
            name,
            connector,
            schema: plan.schema(),
            primary_key: vec![],
            partition_keys: vec![],
            metadata: vec![],
            options,
            projection: None,
            predicates: vec![],
            alternatives: vec![],
        };
        lowering.add_sink(&plan, table, 0)?;
        Ok(lowering.finish())
    }

    fn error(&self, sql: &str) -> SqlError {
        self.plan(sql).expect_err(sql)
    }
}

fn find<'p>(plan: &'p Plan, wanted: &dyn Fn(&Plan) -> bool) -> Option<&'p Plan> {
    if wanted(plan) {
        return Some(plan);
    }
    plan.inputs().into_iter().find_map(|p| find(p, wanted))
}

fn scan(plan: &Plan) -> (&TableSpec, &Option<rheos_expr::Expr>) {
    match find(plan, &|p| matches!(p.rel, Rel::Scan { .. })).map(|p| &p.rel) {
        Some(Rel::Scan { spec, watermark, .. }) => (spec, watermark),
        _ => panic!("no scan"),
    }
}

fn operators<'g>(graph: &'g JobGraph, wanted: &str) -> Vec<&'g Value> {
    let of_kind = |n: &'g rheos_graph::Node| match &n.kind {
        NodeKind::Operator { kind, spec } if kind == wanted => Some(spec),
        _ => None,
    };
    graph.nodes.iter().filter_map(of_kind).collect()
}

#[test]
fn a_source_gives_just_the_nested_fields_that_are_read_and_applies_what_it_can() {
    let plan = World::new().plan("SELECT price FROM bid WHERE MOD(auction, 123) = 0").unwrap();
    let (spec, watermark) = scan(&plan);
    assert_eq!(spec.predicates.len(), 1, "kind = 2 is the source's");
    // Since the kind is known, the row time is the bid's: person and kind are not read.
    let names: Vec<String> = spec.output_schema().fields.into_iter().map(|f| f.name).collect();
    assert_eq!(names, ["bid.auction", "bid.price", "bid.at"]);
    assert_eq!(watermark.as_ref().unwrap().columns(), [2]);
}

#[test]
fn a_source_is_not_asked_for_what_a_cast_would_change() {
    let world = World::new();
    let applied = |condition: &str| {
        let plan = world.plan(&format!("SELECT n FROM texts WHERE {condition}")).unwrap();
        scan(&plan).0.predicates.len()
    };
    assert_eq!(applied("s = 'ab'"), 1);
    assert_eq!(applied("n = 3000000000"), 1, "a wider integer changes no value");
    assert_eq!(applied("CAST(s AS VARCHAR(1)) = 'a'"), 0);
    assert_eq!(applied("CAST(n AS SMALLINT) = 3"), 0);
    assert_eq!(applied("CAST(s AS INT) = 3"), 0);
    assert_eq!(applied("CAST(d AS STRING) = '2024-01-01'"), 0);
}

#[test]
fn partitions_are_refused_where_the_connector_has_none() {
    let sql = "CREATE TABLE parted (a INT, day DATE) PARTITIONED BY (day) WITH ('connector' = 'fake');";
    let Statement::CreateTable(create) = parser::parse(sql).unwrap().remove(0).statement else { panic!("no table") };
    assert_eq!(create.partitioned_by.len(), 1);
    let e = World::new().binder().bind_create_table(&create).unwrap_err().to_string();
    assert!(e.contains("the connector 'fake' has no partitions"), "{e}");
}

#[test]
fn a_condition_stays_above_the_side_that_an_outer_join_pads() {
    let world = World::new();
    let plan = world.plan("SELECT * FROM t LEFT JOIN u ON t.a = u.a WHERE u.d > 1 AND t.b > 2").unwrap();
    let join = find(&plan, &|p| matches!(p.rel, Rel::Join { .. })).unwrap();
    let Rel::Join { left, right, kind: JoinKind::Left, left_keys, .. } = &join.rel else { panic!("{join:?}") };
    assert_eq!(left_keys.len(), 1);
    let filtered = |p: &Plan| find(p, &|p| matches!(&p.rel, Rel::Calc { condition: Some(_), .. })).is_some();
    assert!(filtered(left), "t.b > 2 goes down");
    assert!(!filtered(right), "u.d > 1 may not: it would turn pairs into padded rows");
    assert!(matches!(&plan.rel, Rel::Calc { condition: Some(_), .. }));
}

#[test]
fn aggregates_take_the_place_of_window_functions_where_they_can() {
    let world = World::new();
    let windowing = |sql: &str| {
        let plan = world.plan(sql).unwrap();
        match find(&plan, &|p| matches!(p.rel, Rel::WindowAggregate { .. })).map(|p| &p.rel) {
            Some(Rel::WindowAggregate { windowing, .. }) => *windowing,
            _ => panic!("{sql}: no window aggregate"),
        }
    };
    let tumble = "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE))";
    let session = "TABLE(SESSION(TABLE t PARTITION BY a, DESCRIPTOR(ts), INTERVAL '1' MINUTE))";
    let fused = windowing(&format!("SELECT window_start, a, SUM(b + 1) FROM {tumble} WHERE b > 0 GROUP BY window_start, window_end, a"));
    assert!(matches!(fused, Windowing::Time { .. }));
    let fused = windowing(&format!("SELECT a, COUNT(*) FROM {session} GROUP BY window_start, window_end, a"));
    assert!(matches!(fused, Windowing::Time { .. }));
    // The aggregate reads the window itself; sessions of `a` are not sessions of `c`.
    for sql in [
        format!(
            "SELECT a, COUNT(*) FROM {tumble} WHERE window_start > TIMESTAMP '2024-01-01 00:00:00' GROUP BY window_start, window_end, a"
        ),
        format!("SELECT c, COUNT(*) FROM {session} GROUP BY window_start, window_end, c"),
    ] {
        assert!(matches!(windowing(&sql), Windowing::Attached { .. }), "{sql}");
    }
}

#[test]
fn a_group_by_one_end_of_the_window_updates() {
    let sql = "SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start";
    assert_eq!(World::new().plan(sql).unwrap().changelog, ChangelogMode::Retract);
}

#[test]
fn update_before_is_put_out_where_someone_needs_it() {
    let world = World::new();
    let emits = |sql: &str, accepts: &str| -> Vec<bool> {
        let graph = world.job(sql, accepts).unwrap();
        let spec = |v: &Value| serde_json::from_value::<GroupAggregateSpec>(v.clone()).unwrap().emit_update_before;
        operators(&graph, "group-aggregate").into_iter().map(spec).collect()
    };
    let counts = "SELECT a, COUNT(*) AS n FROM t GROUP BY a";
    assert_eq!(emits(counts, "upsert"), [false]);
    assert_eq!(emits(counts, "retract"), [true]);
    // Without the key in sight, and behind a filter, the old row is needed.
    assert_eq!(emits("SELECT n FROM (SELECT a, COUNT(*) AS n FROM t GROUP BY a)", "upsert"), [true]);
    assert_eq!(emits("SELECT a, COUNT(*) AS n FROM t GROUP BY a HAVING COUNT(*) < 3", "upsert"), [true]);
    assert_eq!(emits("SELECT n, COUNT(*) FROM (SELECT a, COUNT(*) AS n FROM t GROUP BY a) GROUP BY n", "upsert"), [true, false]);
}

#[test]
fn an_updating_query_is_refused_by_a_sink_of_inserts() {
    let e = World::new().job("SELECT a, COUNT(*) FROM t GROUP BY a", "inserts").unwrap_err();
    assert_eq!(e.message, "'out' takes inserts only, but the query updates rows (first in its GroupAggregate)");
    World::new().job("SELECT DISTINCT a FROM t", "inserts").unwrap();
}

#[test]
fn a_query_used_twice_is_computed_once() {
    let sql =
        "WITH c AS (SELECT a, COUNT(*) AS n FROM t GROUP BY a) SELECT x.a, y.n FROM c x JOIN (SELECT MAX(n) AS n FROM c) y ON x.n = y.n";
    let graph = World::new().job(sql, "retract").unwrap();
    let sources = graph.nodes.iter().filter(|n| matches!(n.kind, NodeKind::Source { .. })).count();
    assert_eq!((sources, operators(&graph, "group-aggregate").len()), (1, 2));
}

#[test]
fn ids_of_operators_survive_edits_elsewhere() {
    let world = World::new();
    let uid = |sql: &str| {
        let graph = world.job(sql, "retract").unwrap();
        graph.nodes.iter().find(|n| n.name == "GroupAggregate").unwrap().uid.clone()
    };
    let counts = uid("SELECT a, COUNT(*) AS n FROM t GROUP BY a");
    assert_eq!(uid("SELECT a + 1, n FROM (SELECT a, COUNT(*) AS n FROM t GROUP BY a) WHERE n > 3"), counts);
    assert_ne!(uid("SELECT a, COUNT(*) AS n FROM t WHERE b > 0 GROUP BY a"), counts);
}

#[test]
fn changelogs_have_one_reader_and_keys_decide_the_exchange() {
    let graph = World::new().job("SELECT v, COUNT(*) FROM cdc GROUP BY v", "retract").unwrap();
    let source = graph.nodes.iter().find(|n| matches!(n.kind, NodeKind::Source { .. })).unwrap();
    assert_eq!((source.parallelism, source.changelog), (1, ChangelogMode::Retract));
}

#[test]
fn what_is_not_supported_is_refused_with_its_place() {
    let world = World::new();
    for (sql, message, column) in [
        ("SELECT a FROM t FOR SYSTEM_TIME AS OF ts", "not supported", 15),
        ("SELECT a FROM t ORDER BY a", "ORDER BY without LIMIT", 26),
        (
            "SELECT SUM(a) OVER (ORDER BY a ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING) FROM t",
            "a frame that does not end with CURRENT ROW",
            8,
        ),
        ("SELECT (SELECT a, d FROM u) FROM t", "a subquery that is a value has one column, not 2", 9),
        ("SELECT NTILE(4) OVER (ORDER BY a) FROM t", "NTILE OVER is not supported yet", 8),
        ("SELECT b, COUNT(*) FROM t GROUP BY a", "column 'b' is neither grouped nor in an aggregate", 8),
        ("SELECT a FROM t WHERE COUNT(*) > 1", "the aggregate COUNT is not allowed in WHERE", 23),
        ("SELECT t.a FROM t JOIN u ON t.a = u.a WHERE a = 1", "column 'a' is ambiguous", 45),
    ] {
        let e = world.error(sql);
        assert!(e.message.contains(message), "{sql}: {e}");
        assert!(column == 0 || e.place.column == column, "{sql}: {e}");
    }
}

#[test]
fn names_that_are_nearly_right_are_suggested() {
    let world = World::new();
    assert_eq!(world.error("SELECT aa FROM t").hint.as_deref(), Some("did you mean 'a'?"));
    assert_eq!(world.error("SELECT a FROM event").hint.as_deref(), Some("did you mean 'events'?"));
    assert_eq!(world.error("SELECT CONUT(a) FROM t").hint.as_deref(), Some("did you mean 'COUNT'?"));
}

#[test]
fn json_of_a_text_stands_in_documents_only() {
    let world = World::new();
    for sql in ["SELECT JSON_ARRAY(JSON('{}'), (JSON('[1]')))", "SELECT JSON_OBJECT('k' VALUE JSON('{}'), 'l' VALUE 1)"] {
        assert!(world.plan(sql).is_ok(), "{sql}");
    }
    for sql in ["SELECT JSON('{}')", "SELECT JSON_OBJECT(JSON('{}') VALUE 1)", "SELECT JSON_ARRAY(UPPER(JSON('{}')))"] {
        assert!(world.error(sql).message.contains("only as a value in JSON_OBJECT or JSON_ARRAY"), "{sql}");
    }
}

#[test]
fn upserts_get_the_rows_that_they_replace_from_their_key() {
    let world = World::new();
    let graph = world.job("SELECT SUM(v) FROM accounts WHERE v > 3", "retract").unwrap();
    let normalize = graph.nodes.iter().position(|n| n.name == "ChangelogNormalize").unwrap();
    // The key is read though nobody asks for it, and nothing is filtered before the rows are complete.
    let source = &graph.nodes[0];
    let NodeKind::Source { table, .. } = &source.kind else { panic!("{source:?}") };
    assert_eq!(source.schema.as_ref().unwrap().fields.iter().map(|f| f.name.as_str()).collect::<Vec<_>>(), ["id", "v"]);
    assert!(table.predicates.is_empty());
    assert!(graph.edges.iter().any(|e| e.from == 0 && e.to == normalize), "{:?}", graph.edges);
    // A sink of the same key takes them as they are.
    assert!(world.job("SELECT id, v FROM accounts", "upsert").unwrap().nodes.iter().all(|n| n.name != "ChangelogNormalize"));
    let error = world.job("SELECT SUM(v) FROM keyless", "retract").unwrap_err();
    assert!(error.message.contains("'keyless' gives updates without the rows that they replace"), "{error}");
}

#[test]
fn joins_of_rows_near_in_time_are_recognised() {
    let world = World::new();
    let interval = |condition: &str| {
        let graph = world.job(&format!("SELECT t.a FROM t JOIN late ON t.a = late.a AND {condition}"), "retract").unwrap();
        let spec = operators(&graph, "interval-join").pop().cloned();
        spec.map(|s| serde_json::from_value::<rheos_operators::spec::IntervalJoinSpec>(s).unwrap().interval)
    };
    let bounds = |condition: &str| interval(condition).map(|i| (i.lower_ms, i.upper_ms));
    assert_eq!(bounds("late.at BETWEEN t.ts - INTERVAL '1' SECOND AND t.ts + INTERVAL '5' SECOND"), Some((-1000, 5000)));
    assert_eq!(bounds("t.ts < late.at AND late.at <= t.ts + INTERVAL '2' SECOND"), Some((1, 2000)));
    assert_eq!(bounds("late.at = t.ts"), Some((0, 0)));
    assert_eq!(bounds("late.at > t.ts"), None);
    assert_eq!(bounds("late.at BETWEEN t.ts AND TIMESTAMP '2024-01-01 00:00:00'"), None);
}

#[test]
fn versions_are_not_filtered_before_a_temporal_join() {
    let sql = "SELECT t.a FROM t JOIN rates FOR SYSTEM_TIME AS OF t.ts AS r ON t.a = r.a WHERE r.rate > 3 AND t.b = 1";
    let graph = World::new().job(sql, "retract").unwrap();
    assert_eq!(operators(&graph, "temporal-join").len(), 1);
    let predicates = |name: &str| {
        let of = |n: &rheos_graph::Node| match &n.kind {
            NodeKind::Source { table, .. } if table.name == name => Some(table.predicates.len()),
            _ => None,
        };
        graph.nodes.iter().find_map(of).unwrap()
    };
    assert_eq!((predicates("t"), predicates("rates")), (1, 0));
    let error = World::new().error("SELECT t.a FROM t JOIN u FOR SYSTEM_TIME AS OF t.ts AS r ON t.a = r.a");
    assert!(error.message.contains("has no primary key"), "{error}");
}

#[test]
fn a_sink_whose_key_is_not_the_querys_gets_the_last_row_of_each_key() {
    let world = World::new();
    let job = |sql: &str| {
        let plan = world.plan(sql).unwrap();
        let options = LowerOptions {
            parallelism: 2,
            per_row_watermarks: false,
            config: EvalConfig::default(),
            state_ttl_ms: None,
            aggregate_phases: AggregatePhases::One,
            not_null_enforcer: NotNullEnforcer::Error,
            length_enforcer: LengthEnforcer::Ignore,
            lookup_timeout_ms: 1_000,
            cdc_duplicates: false,
        };
        let mut lowering = Lowering::new("test", &world.registry, options);
        let options = [("connector".to_string(), "fake".to_string()), ("accepts".to_string(), "upsert".to_string())].into();
        let (name, connector) = ("out".into(), "fake".into());
        let (schema, partition_keys, predicates, alternatives) = (plan.schema(), vec![], vec![], vec![]);
        let primary_key = vec![0];
        let table = TableSpec {
            name,
            connector,
            schema,
            primary_key,
            partition_keys,
            metadata: vec![],
            options,
            projection: None,
            predicates,
            alternatives,
        };
        lowering.add_sink(&plan, table, 0).unwrap();
        lowering.finish()
    };
    let materializes = |sql: &str| job(sql).nodes.iter().any(|n| n.name == "UpsertMaterialize");
    assert!(materializes("SELECT b, COUNT(*) FROM t GROUP BY a, b"));
    assert!(!materializes("SELECT a, COUNT(*) FROM t GROUP BY a"));
    assert!(!materializes("SELECT a, b FROM t"));
}

#[test]
fn subqueries_become_joins_by_what_they_speak_of() {
    let world = World::new();
    let joins = |sql: &str| {
        let graph = world.job(sql, "retract").unwrap();
        operators(&graph, "join").into_iter().map(|s| s["left"]["keys"].as_array().unwrap().len()).collect::<Vec<_>>()
    };
    assert_eq!(joins("SELECT a, (SELECT MAX(d) FROM u WHERE u.a = t.a) FROM t"), [1]);
    assert_eq!(joins("SELECT a FROM t WHERE b > (SELECT AVG(d) FROM u)"), [0]);
    assert_eq!(joins("SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a GROUP BY u.d HAVING COUNT(*) > 1)"), [1]);
    // Not by equality: the values of t.b are joined in.
    assert_eq!(joins("SELECT a, (SELECT COUNT(*) FROM u WHERE u.d < t.b) FROM t").len(), 2);
}

#[test]
fn hints_say_how_long_state_is_kept_and_what_a_table_is_read_with() {
    let world = World::new();
    let graph = world.job("SELECT /*+ STATE_TTL('x' = '1 h') */ x.a, u.d FROM t AS x JOIN u ON x.a = u.a", "retract").unwrap();
    let join = operators(&graph, "join")[0].clone();
    assert_eq!((join["left"]["state_ttl_ms"].as_i64(), join["right"]["state_ttl_ms"].as_i64()), (Some(3_600_000), None));
    let graph = world.job("SELECT a FROM t /*+ OPTIONS('changes' = 'true') */ AS y", "retract").unwrap();
    assert_eq!(graph.nodes[0].changelog, ChangelogMode::Retract);
    let error = world.error("SELECT a FROM t /*+ OPTIONS('chnges' = 'true') */");
    assert_eq!(
        (error.message.as_str(), error.hint.as_deref()),
        ("the connector 'fake' has no option 'chnges'", Some("did you mean 'changes'?"))
    );
    assert!(world.error("SELECT /*+ STATE_TL('t' = '1 h') */ a FROM t").message.contains("no hint 'STATE_TL'"));
}
