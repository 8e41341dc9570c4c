//! `lookup-join`: rows with what a table of an outside system says of their key at the moment.

use serde::{Deserialize, Serialize};

use rheos_core::connector::TableSpec;
use rheos_core::error::{Error, Result};
use rheos_core::schema::Schema;
use rheos_core::source::SourceFactory;
use rheos_expr::{EvalConfig, Expr};

use super::{CalcSpec, JoinKind};

/// `lookup-join`: left rows, one after the other, with the rows of a table that have their key when they come.
///
/// Output columns: the left side's, then those of `right`. A row that changes or goes is looked up like one that comes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LookupJoinSpec {
    /// Inner or left.
    pub kind: JoinKind,
    /// The left side's columns.
    pub left: Schema,
    /// The key, in the left side.
    pub left_keys: Vec<usize>,
    /// The table, and which of its columns are read.
    pub table: TableSpec,
    /// What becomes of the table's rows: filtered and projected.
    pub right: CalcSpec,
    /// The key, in the columns of `right`.
    pub right_keys: Vec<usize>,
    /// The key in the table's own columns, where the table is asked by it.
    pub asked_by: Vec<usize>,
    /// A condition beside, over both sides' columns.
    pub condition: Option<Expr>,
    /// What is kept of the table.
    pub cache: LookupCache,
    /// How often a lookup that failed is tried again.
    pub max_retries: u32,
    /// How long one may take, in milliseconds, before it counts as failed.
    pub timeout_ms: u64,
    /// The output.
    pub output: Schema,
    /// The time zone and the like.
    pub config: EvalConfig,
}

/// What a lookup join keeps of its table (`lookup.cache`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LookupCache {
    /// Nothing: the table is asked about each batch of rows.
    None,
    /// The rows of the keys that were asked for.
    Partial {
        /// How many keys, at most.
        max_keys: Option<u64>,
        /// How long a key is kept after it was fetched, in milliseconds.
        expire_after_write_ms: Option<u64>,
        /// How long a key is kept after a row asked for it, in milliseconds.
        expire_after_access_ms: Option<u64>,
        /// Whether it is kept that a key has no rows.
        cache_missing: bool,
    },
    /// All rows.
    Full {
        /// After how many milliseconds the table is read again; `None`: never.
        reload_ms: Option<u64>,
    },
}

/// The options of a table that is looked up, whatever its connector.
pub const LOOKUP_OPTIONS: [&str; 8] = [
    "lookup.cache",
    "lookup.max-retries",
    "lookup.partial-cache.max-rows",
    "lookup.partial-cache.expire-after-write",
    "lookup.partial-cache.expire-after-access",
    "lookup.partial-cache.cache-missing-key",
    "lookup.full-cache.reload-strategy",
    "lookup.full-cache.periodic-reload.interval",
];

/// The default of `lookup.max-retries`.
const MAX_RETRIES: u32 = 3;

impl LookupCache {
    /// What a table's options say. `asked_by` are the columns of the table by which it would be asked, if the key is of such.
    pub fn of(table: &TableSpec, source: &dyn SourceFactory, asked_by: Option<&[usize]>) -> Result<LookupCache> {
        let wrong = |message: String| Err(Error::config(format!("table '{}' is looked up: {message}", table.name)));
        let can_be_asked = match (source.lookup(), asked_by) {
            (Some(factory), Some(keys)) => factory.check(table, keys),
            (Some(_), None) => Err(Error::config("the key is compared with an expression, not with columns of the table")),
            (None, _) => Err(Error::config(format!("the connector '{}' cannot be asked for single rows", table.connector))),
        };
        let cache = match (table.option("lookup.cache").map(|text| text.trim().to_ascii_uppercase()).as_deref(), &can_be_asked) {
            (Some("FULL"), _) | (None, Err(_)) => LookupCache::Full { reload_ms: reload_ms(table)? },
            (None | Some("NONE"), Ok(())) => LookupCache::None,
            (Some("PARTIAL"), Ok(())) => partial(table)?,
            (Some("NONE" | "PARTIAL"), Err(reason)) => return wrong(format!("{reason}; 'lookup.cache' = 'FULL' reads it whole")),
            (Some(other), _) => return wrong(format!("'lookup.cache' is '{other}', but must be NONE, PARTIAL or FULL")),
        };
        let is_full = matches!(cache, LookupCache::Full { .. });
        if is_full && !source.describe(table)?.bounded {
            let reason = can_be_asked.map_or_else(|e| e.to_string(), |()| "'lookup.cache' is 'FULL'".to_string());
            return wrong(format!("{reason}, so that it is read whole, but it has no end"));
        }
        // An option that would change nothing is a mistake.
        let of_others = if is_full { "lookup.partial-cache." } else { "lookup.full-cache." };
        match table.options.keys().find(|key| key.starts_with(of_others)) {
            Some(key) => wrong(format!("the option '{key}' is of another 'lookup.cache'")),
            None => Ok(cache),
        }
    }

    /// How often a table's options say that a lookup is tried again.
    pub fn max_retries(table: &TableSpec) -> Result<u32> {
        table.parsed("lookup.max-retries", MAX_RETRIES)
    }
}

fn reload_ms(table: &TableSpec) -> Result<Option<u64>> {
    match table.option("lookup.full-cache.reload-strategy").map(|text| text.trim().to_ascii_uppercase()).as_deref() {
        None | Some("PERIODIC") => {}
        Some(other) => {
            let message = format!("option 'lookup.full-cache.reload-strategy' of table '{}' is '{other}'", table.name);
            return Err(Error::config(format!("{message}, but must be PERIODIC (TIMED is not supported)")));
        }
    }
    table.duration_ms("lookup.full-cache.periodic-reload.interval")
}

fn partial(table: &TableSpec) -> Result<LookupCache> {
    let max_keys = table.option("lookup.partial-cache.max-rows").is_some();
    let max_keys = max_keys.then(|| table.parsed("lookup.partial-cache.max-rows", 0u64)).transpose()?;
    let expire_after_write_ms = table.duration_ms("lookup.partial-cache.expire-after-write")?;
    let expire_after_access_ms = table.duration_ms("lookup.partial-cache.expire-after-access")?;
    if max_keys.or(expire_after_write_ms).or(expire_after_access_ms).is_none() {
        let message = format!("table '{}': 'lookup.cache' = 'PARTIAL' needs a bound", table.name);
        let hint = "'lookup.partial-cache.max-rows', '....expire-after-write' or '....expire-after-access'";
        return Err(Error::config(format!("{message}: {hint}")));
    }
    let cache_missing = table.parsed("lookup.partial-cache.cache-missing-key", true)?;
    Ok(LookupCache::Partial { max_keys, expire_after_write_ms, expire_after_access_ms, cache_missing })
}

/// The default of `table.exec.async-lookup.timeout`, in milliseconds: three minutes, as in Flink.
pub const LOOKUP_TIMEOUT_MS: u64 = 180_000;
