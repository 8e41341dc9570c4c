//! Window table functions in FROM.

use sqlparser::ast::{
    Expr as Ast, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, ObjectName, Spanned, TableFactor,
};

use rheos_core::types::TypeKind;
use rheos_expr::{Expr, Literal};
use rheos_operators::spec::{StreamMode, WindowSpec};

use super::Binder;
use super::expr::ExprBinder;
use super::scope::Scope;
use crate::error::{SqlError, SqlResult};
use crate::optimizer;
use crate::parser::dialect;
use crate::plan::{Column, Plan};
use crate::suggest::did_you_mean;

/// CQL's operators from a relation to a stream.
const STREAMS: [(&str, StreamMode); 3] =
    [("ISTREAM", StreamMode::Inserted), ("DSTREAM", StreamMode::Removed), ("RSTREAM", StreamMode::Whole)];

const FUNCTIONS: [(&str, &[&str], usize, &str); 4] = [
    ("TUMBLE", &["DATA", "TIMECOL", "SIZE", "OFFSET"], 3, "TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND [, offset])"),
    (
        "HOP",
        &["DATA", "TIMECOL", "SLIDE", "SIZE", "OFFSET"],
        4,
        "HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '10' SECOND [, offset])",
    ),
    (
        "CUMULATE",
        &["DATA", "TIMECOL", "STEP", "SIZE", "OFFSET"],
        4,
        "CUMULATE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '1' HOUR [, offset])",
    ),
    ("SESSION", &["DATA", "TIMECOL", "GAP"], 3, "SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '10' MINUTE)"),
];

impl Binder<'_> {
    /// `TUMBLE(...)`, `HOP(...)`, `CUMULATE(...)`, `SESSION(...)`.
    pub(super) fn bind_table_function(&mut self, at: &TableFactor, name: &ObjectName, list: &FunctionArgumentList) -> SqlResult<Plan> {
        let upper = name.to_string().to_uppercase();
        if let Some((_, mode)) = STREAMS.iter().find(|(stream, _)| *stream == upper) {
            let [FunctionArg::Unnamed(FunctionArgExpr::Expr(data))] = list.args.as_slice() else {
                let error = SqlError::at(name, format!("{upper} takes one table"));
                return Err(error.hint(Some(format!("write {upper}(TABLE t), or {upper}((SELECT ...))"))));
            };
            return Ok(Plan::stream(self.bind_window_data(data)?.0, *mode));
        }
        let Some((function, parameters, required, usage)) = FUNCTIONS.iter().find(|f| f.0 == upper) else {
            let hint = did_you_mean(&upper, FUNCTIONS.iter().map(|f| f.0).chain(STREAMS.iter().map(|s| s.0)));
            return Err(SqlError::at(name, format!("no table function '{name}'")).hint(hint));
        };
        let wrong = |message: String| SqlError::at(at, message).hint(Some(format!("write {usage}"))).or_at(name.span());
        let arguments = by_parameter(list, parameters, *required).map_err(|m| wrong(format!("{function} {m}")))?;
        let argument = |parameter: &str| parameters.iter().position(|p| *p == parameter).and_then(|i| arguments[i].as_ref());
        let (Some(data), Some(time)) = (argument("DATA"), argument("TIMECOL")) else {
            return Err(wrong(format!("{function} needs a table and a DESCRIPTOR")));
        };

        let (mut plan, keys) = self.bind_window_data(data)?;
        let (column, named) = descriptor(&plan, time).map_err(|e| e.hint(Some(format!("write {usage}"))))?;
        if plan.columns[column].time.is_none() {
            plan = optimizer::recognise(plan, self.registry)?;
        }
        let time = row_time(&plan, column, named).map_err(|e| e.hint(Some(format!("write {usage}"))))?;
        let interval = |parameter: &str| -> SqlResult<Option<i64>> {
            let Some(ast) = argument(parameter) else { return Ok(None) };
            match ExprBinder::plain(&Scope::default(), "a window's size").bind(ast)? {
                Expr::Literal { value: Literal::Int(ms), ty } if ty.kind == TypeKind::IntervalDayTime => Ok(Some(ms)),
                _ => Err(SqlError::at(ast, format!("{parameter} of {function} must be a constant INTERVAL of days to seconds"))),
            }
        };
        let positive = |parameter: &str| -> SqlResult<i64> {
            match interval(parameter)? {
                Some(ms) if ms > 0 => Ok(ms),
                _ => Err(wrong(format!("{parameter} of {function} must be more than zero"))),
            }
        };
        let offset_ms = interval("OFFSET")?.unwrap_or(0);
        let multiple = |whole: i64, part: i64, what: &str, of: &str| {
            if whole % part == 0 { Ok(()) } else { Err(wrong(format!("the {what} of {function} must be a multiple of its {of}"))) }
        };
        let window = match *function {
            "TUMBLE" => WindowSpec::Tumble { size_ms: positive("SIZE")?, offset_ms },
            "HOP" => {
                let (slide_ms, size_ms) = (positive("SLIDE")?, positive("SIZE")?);
                multiple(size_ms, slide_ms, "size", "slide")?;
                WindowSpec::Hop { size_ms, slide_ms, offset_ms }
            }
            "CUMULATE" => {
                let (step_ms, max_ms) = (positive("STEP")?, positive("SIZE")?);
                multiple(max_ms, step_ms, "maximum size", "step")?;
                WindowSpec::Cumulate { max_ms, step_ms, offset_ms }
            }
            _ => WindowSpec::Session { gap_ms: positive("GAP")? },
        };
        if !keys.is_empty() && !matches!(window, WindowSpec::Session { .. }) {
            return Err(wrong(format!("PARTITION BY is for SESSION, not for {function}")));
        }
        Ok(Plan::window_table(plan, time, window, keys))
    }

    fn bind_window_data(&mut self, data: &Ast) -> SqlResult<(Plan, Vec<usize>)> {
        match data {
            Ast::Subquery(query) => Ok((self.bind_query(query, None)?, vec![])),
            Ast::Nested(inner) => self.bind_window_data(inner),
            Ast::Function(f) if f.name.to_string() == dialect::TABLE => {
                let arguments = super::expr::arguments(f)?;
                let Some((Ast::CompoundIdentifier(name), keys)) = arguments.split_first() else {
                    return Err(SqlError::at(data, "TABLE needs a table's name"));
                };
                let plan = self.bind_relation(&ObjectName::from(name.clone()))?;
                let scope = Scope::of(&plan, None);
                let mut columns = Vec::with_capacity(keys.len());
                for key in keys {
                    match ExprBinder::plain(&scope, "PARTITION BY").bind(key)? {
                        Expr::Column { index, .. } => columns.push(index),
                        _ => return Err(SqlError::at(key, "PARTITION BY of a window takes columns")),
                    }
                }
                Ok((plan, columns))
            }
            Ast::Identifier(name) => Ok((self.bind_relation(&ObjectName::from(vec![name.clone()]))?, vec![])),
            other => Err(SqlError::at(other, "a window's first argument is TABLE t or a subquery in parentheses")),
        }
    }
}

/// The arguments in the order of the parameters, given by position or by name.
fn by_parameter(list: &FunctionArgumentList, parameters: &[&str], required: usize) -> Result<Vec<Option<Ast>>, String> {
    let mut arguments: Vec<Option<Ast>> = vec![None; parameters.len()];
    for (i, argument) in list.args.iter().enumerate() {
        let (at, value) = match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => (i, value),
            FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. } => {
                let at = parameters.iter().position(|p| p.eq_ignore_ascii_case(&name.value));
                (at.ok_or_else(|| format!("has no parameter '{}'; it has {}", name.value, parameters.join(", ")))?, value)
            }
            other => return Err(format!("does not take the argument '{other}'")),
        };
        match arguments.get_mut(at) {
            None => return Err(format!("takes at most {} arguments", parameters.len())),
            Some(Some(_)) => return Err(format!("is given {} twice", parameters[at])),
            Some(free) => *free = Some(value.clone()),
        }
    }
    match arguments[..required].iter().position(Option::is_none) {
        Some(missing) => Err(format!("lacks its argument {}", parameters[missing])),
        None => Ok(arguments),
    }
}

/// The column of `DESCRIPTOR(ts)`.
fn descriptor<'a>(plan: &Plan, ast: &'a Ast) -> SqlResult<(usize, &'a Ast)> {
    let name = match ast {
        Ast::Function(Function { name, args: FunctionArguments::List(list), .. })
            if name.to_string().eq_ignore_ascii_case("DESCRIPTOR") =>
        {
            match list.args.as_slice() {
                [FunctionArg::Unnamed(FunctionArgExpr::Expr(column))] => column,
                _ => return Err(SqlError::at(ast, "DESCRIPTOR names one column")),
            }
        }
        other => return Err(SqlError::at(other, "the time column is given as DESCRIPTOR(column)")),
    };
    let scope = Scope::of(plan, None);
    match ExprBinder::plain(&scope, "DESCRIPTOR").bind(name)? {
        Expr::Column { index, .. } => Ok((index, name)),
        _ => Err(SqlError::at(name, "DESCRIPTOR names a column")),
    }
}

/// The column, which must be a row-time attribute.
fn row_time(plan: &Plan, index: usize, at: &Ast) -> SqlResult<usize> {
    if plan.columns[index].time.is_none() {
        let Column { name: column, ty, .. } = &plan.columns[index];
        let message = format!("'{column}' ({}) is no row-time attribute: nothing says how far its time has come", ty.kind);
        let times: Vec<&str> = plan.columns.iter().filter(|c| c.time.is_some()).map(|c| c.name.as_str()).collect();
        let hint = match times.as_slice() {
            [] if ty.kind.is_timestamp() => format!(
                "declare WATERMARK FOR `{column}` AS `{column}` - INTERVAL '5' SECOND in CREATE TABLE; expressions and aggregates lose it"
            ),
            [] => "a window needs a TIMESTAMP column with a WATERMARK in CREATE TABLE".into(),
            some => format!("there is {}", some.join(", ")),
        };
        return Err(SqlError::at(at, message).hint(Some(hint)));
    }
    Ok(index)
}
