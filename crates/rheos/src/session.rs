//! A session: names and settings, and statements made into jobs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rheos_core::connector::{ConnectorInfo, TableSpec};
use rheos_core::registry::Registry;
use rheos_expr::build;
use rheos_graph::{JobGraph, NodeKind};
use rheos_sql::binder::Binder;
use rheos_sql::catalog::{Catalog, Relation, Table, View, hinted, simple_name};
use rheos_sql::functions::SqlFunctions;
use rheos_sql::lower::{LengthEnforcer, Lowering};
use rheos_sql::parser::{self, ColumnDefinition, CreateFunction, CreateTable, Explain, Insert, Parsed, Show, Statement};
use rheos_sql::plan::Plan;
use rheos_sql::{SqlError, SqlResult, explain, explain_state, like, optimizer};

use crate::checkpointing::{DIR, Durability};
use crate::collect::{self, Held, Results};
use crate::running::Running;
use crate::settings::{self, Settings};
use crate::snapshots;
use crate::start::StartOptions;
use crate::{ChangelogMode, Error, Result, Schema};

/// Names and settings of one user's work. A copy goes on from where it was made, by itself.
#[derive(Clone)]
pub struct Session {
    registry: Registry,
    catalog: Catalog,
    settings: Settings,
    functions: SqlFunctions,
    /// Where rows go instead of where statements say.
    redirected: Option<PathBuf>,
}

/// What a statement amounts to.
#[allow(clippy::large_enum_variant)] // there is one at a time
pub enum Prepared {
    /// It is done; the notes are for the user.
    Done(Vec<String>),
    /// A small table to show: SHOW, DESCRIBE, SET without arguments.
    Table {
        /// The names of the columns.
        header: Vec<String>,
        /// The rows.
        rows: Vec<Vec<String>>,
    },
    /// A text to show: EXPLAIN.
    Text(String),
    /// A job to run: a query or an INSERT.
    Job(Job),
}

/// A job that is ready to start. All errors of the statement are behind.
pub struct Job {
    /// What runs.
    pub graph: JobGraph,
    /// The rows that come back, for a query.
    pub result: Option<ResultInfo>,
    /// What it writes, where that was redirected ([`Session::redirect_sinks`]).
    pub redirected: Option<ResultInfo>,
    /// Whether it ends by itself.
    pub bounded: bool,
    pub(crate) registry: Arc<Registry>,
    pub(crate) results: Option<Results>,
    /// Where a query's rows wait until the snapshot that they belong to is complete.
    pub(crate) held: Option<Held>,
}

impl Job {
    /// A job of a graph that a program has built, of whatever `registry` knows.
    pub fn from_graph(graph: JobGraph, registry: Registry) -> Result<Job> {
        let mut bounded = true;
        for node in &graph.nodes {
            let NodeKind::Source { table, .. } = &node.kind else { continue };
            let source = registry.connector(&table.connector).and_then(|c| c.source.as_ref());
            let message = || format!("'{}' cannot be read: no connector '{}' that reads is registered", table.name, table.connector);
            bounded &= source.ok_or_else(|| Error::config(message()))?.describe(table)?.bounded;
        }
        Ok(Job { graph, result: None, redirected: None, bounded, registry: Arc::new(registry), results: None, held: None })
    }

    /// Whether the rows of a query wait for the snapshot that they belong to: then a restart shows none twice.
    pub(crate) fn hold_results(&self, hold: bool) {
        if let Some(held) = &self.held {
            held.set(hold);
        }
    }
}

/// What a query's rows are.
#[derive(Debug, Clone)]
pub struct ResultInfo {
    /// The columns.
    pub schema: Schema,
    /// The kinds of changes.
    pub changelog: ChangelogMode,
    /// The columns by which changes replace rows, if known.
    pub upsert_key: Option<Vec<usize>>,
}

impl ResultInfo {
    fn of(plan: &Plan) -> Self {
        ResultInfo { schema: plan.schema(), changelog: plan.changelog, upsert_key: plan.unique_keys.first().cloned() }
    }
}

impl Default for Session {
    fn default() -> Self {
        Self::new()
    }
}

impl Session {
    /// A session that knows all connectors and functions, and no tables.
    pub fn new() -> Self {
        Session {
            registry: crate::registry(),
            catalog: Catalog::default(),
            settings: Settings::default(),
            functions: SqlFunctions::default(),
            redirected: None,
        }
    }

    /// Parses a script. Names are not looked up yet.
    pub fn parse(&self, sql: &str) -> SqlResult<Vec<Parsed>> {
        parser::parse(sql)
    }

    /// Changes a setting; the note, if any, is for the user.
    pub fn set(&mut self, key: &str, value: &str) -> SqlResult<Option<String>> {
        self.settings.set(key, value)
    }

    /// From now on queries and INSERTs write part files to this folder instead of where they say: as `json` where rows are only
    /// added, as `debezium-json` elsewhere. No table of the user's is touched then.
    pub fn redirect_sinks(&mut self, folder: impl Into<PathBuf>) {
        self.redirected = Some(folder.into());
    }

    /// The keys that can be set: key, default, meaning.
    pub fn known_settings() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
        settings::known()
    }

    /// The connectors and formats of this binary.
    pub fn connectors(&self) -> &Registry {
        &self.registry
    }

    /// Adds a connector of one's own, which tables name in `'connector' = '...'` from then on; it replaces one of the same name.
    ///
    /// Its source and its sink keep the contracts of [`rheos_core::source`] and [`rheos_core::sink`]. A job that is to be restored
    /// is restored in a session that has the connector too.
    pub fn add_connector(&mut self, connector: ConnectorInfo) {
        self.registry.add_connector(connector);
    }

    /// Carries out a statement, up to the job if it has one.
    pub fn prepare(&mut self, statement: &Statement) -> SqlResult<Prepared> {
        match &self.functions.expand(statement)? {
            Statement::CreateTable(create) => self.create_table(create),
            Statement::CreateFunction(create) => {
                self.check_function(create)?;
                self.functions.add(create.clone())?;
                Ok(Prepared::Done(vec![]))
            }
            Statement::DropFunction { name, if_exists } => {
                self.functions.drop(name, *if_exists)?;
                Ok(Prepared::Done(vec![]))
            }
            Statement::CreateView(create) => {
                let plan = self.binder().bind(&create.query)?;
                Binder::check_columns(&plan, &create.columns, &format!("view '{}'", create.name))?;
                let view = View { query: create.query.clone(), columns: create.columns.clone() };
                self.catalog.add(&create.name, Relation::View(Arc::new(view)), create.if_not_exists)?;
                Ok(Prepared::Done(vec![]))
            }
            Statement::Drop { view, name, if_exists } => {
                self.catalog.drop(name, *view, *if_exists)?;
                Ok(Prepared::Done(vec![]))
            }
            Statement::Set(Some((key, value, span))) => {
                let note = self.settings.set(key, value).map_err(|e| e.or_at(*span))?;
                Ok(Prepared::Done(note.into_iter().collect()))
            }
            Statement::Set(None) => {
                let rows = self.settings.iter().map(|(k, v)| vec![k.to_string(), v.to_string()]).collect();
                Ok(Prepared::Table { header: vec!["key".into(), "value".into()], rows })
            }
            Statement::Reset(key) => {
                self.settings.reset(key.as_deref());
                Ok(Prepared::Done(vec![]))
            }
            Statement::Show(show) => Ok(self.show(*show)),
            Statement::Describe(name) => self.describe(name),
            Statement::Explain(Explain { statement, state }) => {
                let (plan, graph) = match statement.as_ref() {
                    Statement::Query(query) => {
                        let plan = self.plan(query)?;
                        let (job, _) = self.query_job(&plan)?;
                        (plan, job)
                    }
                    Statement::Insert(insert) => {
                        let writes = self.writes(std::slice::from_ref(insert))?;
                        (writes[0].plan.clone(), self.insert_job(&writes)?.0)
                    }
                    _ => return Err(SqlError::new("EXPLAIN of this statement is not supported yet")),
                };
                if *state {
                    let rows = explain_state::explain_state(&plan, &self.settings.lower_options());
                    let header = explain_state::HEADER.map(String::from).to_vec();
                    return Ok(Prepared::Table { header, rows: rows.into_iter().map(Vec::from).collect() });
                }
                Ok(Prepared::Text(explain::explain(&plan, &graph)))
            }
            Statement::Query(query) => {
                let plan = self.plan(query)?;
                if let Some(folder) = &self.redirected {
                    return self.redirected_job(&plan, folder, "query");
                }
                let (graph, (registry, results, held)) = self.query_job(&plan)?;
                Ok(Prepared::Job(Job {
                    graph,
                    result: Some(ResultInfo::of(&plan)),
                    redirected: None,
                    bounded: plan.bounded,
                    registry,
                    results: Some(results),
                    held: Some(held),
                }))
            }
            Statement::Insert(insert) => self.inserts(std::slice::from_ref(insert)),
            Statement::StatementSet(inserts) => self.inserts(inserts),
        }
    }

    fn create_table(&mut self, create: &CreateTable) -> SqlResult<Prepared> {
        let mut create = create.clone();
        if let Some(like) = &create.like {
            create = like::merged(&create, like, self.catalog.declaration(&like.name)?)?;
        }
        let query = create.query.take();
        if let Some(query) = &query {
            if !create.columns.is_empty() {
                return Err(SqlError::at(&create.name, "CREATE TABLE ... AS takes its columns from the query"));
            }
            let plan = self.binder().bind(query)?;
            create.columns = plan.columns.iter().map(|c| ColumnDefinition::physical(&c.name, c.ty.clone())).collect();
        }
        let exists = self.catalog.contains(&simple_name(&create.name)?);
        let table = self.binder().bind_create_table(&create)?;
        self.catalog.add(&create.name, Relation::Table(Arc::new(table)), create.if_not_exists)?;
        if exists {
            return Ok(Prepared::Done(vec![]));
        }
        self.catalog.declare(&create)?;
        match query {
            None => Ok(Prepared::Done(vec![])),
            Some(query) => self.inserts(&[Insert { table: create.name.clone(), columns: vec![], query }]),
        }
    }

    /// A function must be right for values of the types of its parameters.
    fn check_function(&self, create: &CreateFunction) -> SqlResult<()> {
        let body = self.functions.expanded(&create.body)?;
        let body = self.binder().bind_over(&create.parameters, &body)?;
        match &create.returns {
            Some(ty) if build::cast(body.clone(), ty.clone(), false).is_err() => {
                let message = format!("{} returns {}, but its expression is {}", create.name.value, ty.kind, body.ty().kind);
                Err(SqlError::new(message).or_at(create.name.span))
            }
            _ => Ok(()),
        }
    }

    /// Starts a job in this process.
    pub fn start(&self, job: Job) -> Result<Running> {
        self.start_with(job, StartOptions::default())
    }

    /// The same, with a say in where its snapshots go and what it begins with.
    pub fn start_with(&self, job: Job, options: StartOptions) -> Result<Running> {
        let durability = Durability::of(&self.settings).map_err(|e| Error::config(e.to_string()))?;
        Running::start(job, &durability, options)
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// All that is set, for a cluster that is to plan the same.
    pub fn set_values(&self) -> impl Iterator<Item = (&str, &str)> {
        self.settings.iter()
    }

    /// Whether the session's jobs take snapshots, and where.
    pub fn checkpoint_dir(&self) -> Option<&str> {
        self.settings.get(DIR).filter(|dir| !dir.is_empty())
    }

    /// How to reach the storage of snapshots: the settings that begin with `s3.`.
    pub fn storage_options(&self) -> snapshots::StorageOptions {
        self.settings.iter().filter(|(key, _)| key.starts_with("s3.")).map(|(k, v)| (k.to_string(), v.to_string())).collect()
    }

    pub(crate) fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    pub(crate) fn binder(&self) -> Binder<'_> {
        Binder::new(&self.catalog, &self.registry)
    }

    fn plan(&self, query: &sqlparser_query::Query) -> SqlResult<Plan> {
        let plan = optimizer::optimize(self.binder().bind(query)?, &self.registry)?;
        Ok(optimizer::share_scans(vec![plan])?.remove(0))
    }

    fn job_name(&self, default: &str) -> String {
        self.settings.get("pipeline.name").filter(|n| !n.is_empty()).unwrap_or(default).to_string()
    }

    #[allow(clippy::type_complexity)]
    fn query_job(&self, plan: &Plan) -> SqlResult<(JobGraph, (Arc<Registry>, Results, Held))> {
        let (connector, results, held) = collect::connector();
        let mut registry = self.registry.clone();
        registry.add_connector(connector);
        let table = TableSpec {
            name: "result".into(),
            connector: collect::CONNECTOR.into(),
            schema: plan.schema(),
            primary_key: vec![],
            partition_keys: vec![],
            metadata: vec![],
            options: [("connector".to_string(), collect::CONNECTOR.to_string())].into(),
            projection: None,
            predicates: vec![],
            alternatives: vec![],
        };
        let mut lowering = Lowering::new(&self.job_name("query"), &registry, self.settings.lower_options());
        lowering.add_sink(plan, table, 1)?;
        let graph = lowering.finish();
        Ok((graph, (Arc::new(registry), results, held)))
    }

    fn inserts(&self, inserts: &[Insert]) -> SqlResult<Prepared> {
        if let Some(folder) = &self.redirected {
            let [insert] = inserts else { return Err(SqlError::new("only one INSERT at a time can write elsewhere than it says")) };
            let writes = self.writes(std::slice::from_ref(insert))?;
            return self.redirected_job(&writes[0].plan, folder, &format!("insert into {}", insert.table));
        }
        let (graph, bounded) = self.insert_job(&self.writes(inserts)?)?;
        let registry = Arc::new(self.registry.clone());
        Ok(Prepared::Job(Job { graph, result: None, redirected: None, bounded, registry, results: None, held: None }))
    }

    /// A job that writes a plan's rows to part files in a folder.
    fn redirected_job(&self, plan: &Plan, folder: &Path, name: &str) -> SqlResult<Prepared> {
        let format = if plan.changelog.is_insert_only() { "json" } else { "debezium-json" };
        let options = [("connector", "filesystem".into()), ("path", folder.display().to_string()), ("format", format.into())];
        let table = TableSpec {
            name: "result".into(),
            connector: "filesystem".into(),
            schema: plan.schema(),
            primary_key: vec![],
            partition_keys: vec![],
            metadata: vec![],
            options: options.into_iter().map(|(key, value): (_, String)| (key.to_string(), value)).collect(),
            projection: None,
            predicates: vec![],
            alternatives: vec![],
        };
        let mut lowering = Lowering::new(&self.job_name(name), &self.registry, self.settings.lower_options());
        lowering.add_sink(plan, table, 0)?;
        Ok(Prepared::Job(Job {
            graph: lowering.finish(),
            result: None,
            redirected: Some(ResultInfo::of(plan)),
            bounded: plan.bounded,
            registry: Arc::new(self.registry.clone()),
            results: None,
            held: None,
        }))
    }

    /// The job of some INSERTs (at least one), and whether it ends.
    fn insert_job(&self, writes: &[Write<'_>]) -> SqlResult<(JobGraph, bool)> {
        let name = self.job_name(&format!("insert into {}", writes[0].insert.table));
        let mut lowering = Lowering::new(&name, &self.registry, self.settings.lower_options());
        for Write { insert, plan, table } in writes {
            let place = sqlparser_query::Spanned::span(&insert.table);
            lowering.add_sink(plan, table.clone(), 0).map_err(|e| e.or_at(place))?;
        }
        Ok((lowering.finish(), writes.iter().all(|write| write.plan.bounded)))
    }

    /// What the INSERTs of one job write.
    fn writes<'i>(&self, inserts: &'i [Insert]) -> SqlResult<Vec<Write<'i>>> {
        let (plans, tables): (Vec<_>, Vec<_>) =
            inserts.iter().map(|insert| self.insert_plan(insert)).collect::<SqlResult<Vec<_>>>()?.into_iter().unzip();
        let plans = optimizer::share_scans(plans)?;
        Ok(inserts.iter().zip(plans).zip(tables).map(|((insert, plan), table)| Write { insert, plan, table }).collect())
    }

    /// The query of an INSERT with its columns brought to those of the table.
    fn insert_plan(&self, insert: &Insert) -> SqlResult<(Plan, TableSpec)> {
        let (name, options) = hinted(&insert.table)?;
        let mut table = Arc::clone(self.catalog.table(&name)?);
        if !options.is_empty() {
            table = Arc::new(table.with_options(options));
        }
        let plan = self.binder().bind(&insert.query)?;
        let written = self.binder().written(&insert.table, &table)?;
        let mut targets: Vec<usize> = Vec::new();
        for column in &insert.columns {
            let index = written.columns.iter().position(|f| f.name == column.value);
            targets.push(index.ok_or_else(|| {
                SqlError::new(format!("'{}' has no column '{}' that is written", insert.table, column.value)).or_at(column.span)
            })?);
        }
        if insert.columns.is_empty() {
            targets = written.order.clone();
        }
        if targets.len() != plan.columns.len() {
            let message = format!("the query has {} columns, '{}' takes {}", plan.columns.len(), insert.table, targets.len());
            return Err(SqlError::at(&insert.table, message));
        }
        let mut projections = Vec::with_capacity(written.columns.len());
        for (i, (field, taken_as)) in written.columns.iter().zip(&written.types).enumerate() {
            let expr = match targets.iter().position(|t| *t == i) {
                Some(from) => plan.column(from),
                None if !field.ty.nullable => {
                    return Err(SqlError::at(&insert.table, format!("'{}' is NOT NULL, but the INSERT gives it no value", field.name)));
                }
                None => build::typed_null(field.ty.kind.clone()),
            };
            let from = expr.ty().kind.clone();
            // Of texts and bytes too long the enforcer says what becomes of them.
            let to = &field.ty.kind;
            let differ_in_length = (from.is_character() && to.is_character()) || (from.is_binary() && to.is_binary());
            if !differ_in_length && !build::is_implicitly_castable(&from, to) {
                let message = format!("column '{}' of '{}' is {to}, the query gives {from}", field.name, insert.table);
                return Err(SqlError::at(&insert.table, message).hint(Some(format!("CAST(... AS {to})"))));
            }
            let is_kept = differ_in_length && self.settings.length_enforcer() != LengthEnforcer::TrimPad;
            let declared = if is_kept { Ok(expr) } else { build::cast(expr, field.ty.clone(), false) };
            let taken = if *taken_as == field.ty { declared } else { declared.and_then(|expr| build::cast(expr, taken_as.clone(), false)) };
            projections.push(taken.map_err(|e| SqlError::at(&insert.table, e))?);
        }
        let names = written.columns.iter().map(|f| f.name.clone()).collect();
        let plan = optimizer::optimize(Plan::calc(plan, None, projections, names), &self.registry)?;
        Ok((plan, written.spec))
    }

    fn show(&self, show: Show) -> Prepared {
        let one = |name: &str, names: Vec<String>| Prepared::Table {
            header: vec![name.into()],
            rows: names.into_iter().map(|n| vec![n]).collect(),
        };
        match show {
            Show::Tables => one("table name", self.catalog.relations().map(|(n, _)| n.to_string()).collect()),
            Show::Views => {
                let views = self.catalog.relations().filter(|(_, r)| matches!(r, Relation::View(_)));
                one("view name", views.map(|(n, _)| n.to_string()).collect())
            }
            Show::Functions => {
                let mut names: Vec<String> =
                    rheos_expr::functions::names().chain(rheos_operators::spec::aggregate::names()).map(str::to_string).collect();
                names.extend(self.functions.names().map(String::from));
                names.sort_unstable();
                names.dedup();
                one("function name", names)
            }
        }
    }

    fn describe(&self, name: &sqlparser_query::ObjectName) -> SqlResult<Prepared> {
        let header = ["name", "type", "null", "key", "extras", "watermark"].map(String::from).to_vec();
        let rows = match self.catalog.get(name)? {
            Relation::Table(table) => (0..table.columns.len()).map(|i| describe_column(table, i)).collect(),
            Relation::View(_) => {
                let plan = self.binder().bind_name(name)?;
                let row = |c: &rheos_sql::plan::Column| {
                    vec![c.name.clone(), c.ty.kind.to_string(), c.ty.nullable.to_string(), String::new(), String::new(), String::new()]
                };
                plan.columns.iter().map(row).collect()
            }
        };
        simple_name(name)?;
        Ok(Prepared::Table { header, rows })
    }
}

/// An INSERT with the plan of its query and the table that takes the rows.
struct Write<'i> {
    insert: &'i Insert,
    plan: Plan,
    table: TableSpec,
}

/// What DESCRIBE says of a column that is not simply the connector's.
fn extras(table: &Table, i: usize) -> String {
    let field = &table.columns.fields[i];
    match table.metadata.iter().find(|m| m.column == i) {
        Some(metadata) => {
            let key = if metadata.key == field.name { String::new() } else { format!(" FROM '{}'", metadata.key) };
            format!("METADATA{key}{}", if metadata.is_virtual { " VIRTUAL" } else { "" })
        }
        None if table.spec.schema.index_of(&field.name).is_none() => "computed".into(),
        None => String::new(),
    }
}

fn describe_column(table: &Table, i: usize) -> Vec<String> {
    let field = &table.columns.fields[i];
    let physical = table.spec.schema.index_of(&field.name);
    let key = physical.is_some_and(|p| table.spec.primary_key.contains(&p));
    let row_time = table.watermark.as_ref().is_some_and(|(column, _)| *column == i);
    vec![
        field.name.clone(),
        format!("{}{}", field.ty.kind, if row_time { " *ROWTIME*" } else { "" }),
        field.ty.nullable.to_string(),
        if key { "PRI".into() } else { String::new() },
        extras(table, i),
        if row_time { "yes".into() } else { String::new() },
    ]
}

/// The syntax tree's types that cross from the parser to the binder.
mod sqlparser_query {
    pub(super) use rheos_sql::parser::{ObjectName, Query, Spanned};
}
