//! What hints of a SELECT say.

use sqlparser::ast::Select;

use rheos_core::connector::parse_duration_ms;

use super::Binder;
use super::scope::ScopeColumn;
use crate::error::{SqlError, SqlResult};
use crate::parser::hints;

/// Hints that choose how a join or a lookup is carried out, which changes no result: there is one way here.
const OF_PERFORMANCE: [&str; 7] = ["BROADCAST", "SHUFFLE_HASH", "SHUFFLE_MERGE", "NEST_LOOP", "LOOKUP", "MULTI_JOIN", "NO_MULTI_JOIN"];

/// How long the state of relations is kept, by their names: milliseconds.
pub(super) type StateTtls = Vec<(String, i64)>;

/// What STATE_TTL says.
pub(super) fn state_ttls(select: &Select) -> SqlResult<StateTtls> {
    let mut ttls = Vec::new();
    for comment in &select.optimizer_hints {
        if !comment.prefix.is_empty() || comment.style != sqlparser::ast::OptimizerHintStyle::MultiLine {
            continue;
        }
        for hint in hints::parse(&comment.text).map_err(|e| SqlError::at(select, e))? {
            match hint.name.as_str() {
                "STATE_TTL" => {
                    for (name, value) in hint.entries {
                        let wrong = || SqlError::at(select, format!("STATE_TTL of '{name}' is no duration, such as '12 h'"));
                        let ms = value.and_then(|v| parse_duration_ms(&v).ok()).ok_or_else(wrong)?;
                        ttls.push((name, ms.min(i64::MAX as u64) as i64));
                    }
                }
                known if OF_PERFORMANCE.contains(&known) => {}
                other => {
                    let error = SqlError::at(select, format!("no hint '{other}'"));
                    return Err(error.hint(Some("STATE_TTL('table' = '1 d') is one".into())));
                }
            }
        }
    }
    Ok(ttls)
}

impl Binder<'_> {
    /// How long the state over these columns is kept: what the hint says of the one relation that they are of.
    pub(super) fn state_ttl(&self, columns: &[ScopeColumn]) -> Option<i64> {
        let name = columns.first()?.qualifier.as_deref()?;
        if columns.iter().any(|c| c.qualifier.as_deref() != Some(name)) {
            return None;
        }
        self.state_ttls.last()?.iter().find(|(hinted, _)| hinted == name).map(|(_, ms)| *ms)
    }
}
