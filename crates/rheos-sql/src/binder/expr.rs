//! Expressions: names, operators, functions.

use sqlparser::ast::{
    AccessExpr, BinaryOperator, DuplicateTreatment, Expr as Ast, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Query, Spanned,
    Subscript, TrimWhereField, UnaryOperator, Value,
};

use rheos_core::types::{LogicalType, TypeKind};
use rheos_expr::{Expr, build, functions};
use rheos_operators::spec::aggregate;

use super::aggregate::AggregateCollector;
use super::over::{OverCollector, OverSyntax};
use super::scope::{Scope, fields};
use super::{literal, window_group};
use crate::error::{SqlError, SqlResult};
use crate::parser::dialect;
use crate::suggest::did_you_mean;

/// How many operators one chain `a + b + c ...` may have: each is a level of recursion.
pub(super) const MAX_OPERATORS: usize = 500;

/// The function that makes a document of a text, within another document only.
const JSON: &str = "JSON";

/// What an expression may contain, beside columns.
pub(super) struct ExprBinder<'s, 'p> {
    pub(super) scope: &'s Scope<'p>,
    /// Where aggregates go; `None` where none may stand, with the reason.
    pub(super) aggregates: Result<&'s mut AggregateCollector, &'static str>,
    /// Where window functions go; `None` where none may stand.
    pub(super) over: Option<&'s mut OverCollector>,
    /// What more an expression may contain here.
    pub(super) extension: Option<&'s mut dyn Extension>,
}

/// What an expression may contain in some places only; each stands in it as a placeholder column.
pub(super) trait Extension {
    /// `(SELECT ...)` of one column.
    fn scalar(&mut self, at: &Ast, query: &Query, scope: &Scope<'_>) -> SqlResult<Expr> {
        let _ = (query, scope);
        Err(SqlError::unsupported(at, "a subquery here"))
    }

    /// `EXISTS (SELECT ...)`.
    fn exists(&mut self, at: &Ast, query: &Query, scope: &Scope<'_>) -> SqlResult<Expr> {
        let _ = (query, scope);
        Err(SqlError::unsupported(at, "a subquery here"))
    }

    /// `value IN (SELECT ...)`.
    fn is_in(&mut self, at: &Ast, value: Expr, query: &Query, scope: &Scope<'_>) -> SqlResult<Expr> {
        let _ = (value, query, scope);
        Err(SqlError::unsupported(at, "a subquery here"))
    }

    /// A function that only exists here; `None` where it is none.
    fn function(&mut self, at: &Ast, name: &str, args: &[Ast], scope: &Scope<'_>) -> SqlResult<Option<Expr>> {
        let _ = (at, name, args, scope);
        Ok(None)
    }
}

impl<'s, 'p> ExprBinder<'s, 'p> {
    /// A binder for plain expressions: `place` says where they stand, as in "aggregates are not allowed in WHERE".
    pub(super) fn plain(scope: &'s Scope<'p>, place: &'static str) -> Self {
        ExprBinder { scope, aggregates: Err(place), over: None, extension: None }
    }

    /// Binds a condition.
    pub(super) fn condition(&mut self, ast: &Ast) -> SqlResult<Expr> {
        let expr = self.bind(ast)?;
        match expr.ty().kind {
            TypeKind::Boolean => Ok(expr),
            TypeKind::Null => Ok(build::typed_null(TypeKind::Boolean)),
            _ => Err(SqlError::at(ast, format!("a condition must be BOOLEAN, this is {}", expr.ty().kind))),
        }
    }

    /// Binds an expression.
    pub(super) fn bind(&mut self, ast: &Ast) -> SqlResult<Expr> {
        self.bind_inner(ast).map_err(|e| e.or_at(ast.span()))
    }

    fn bind_inner(&mut self, ast: &Ast) -> SqlResult<Expr> {
        let mut length = 0;
        let mut left = ast;
        while let Ast::BinaryOp { left: deeper, .. } = left {
            length += 1;
            left = deeper;
        }
        if length > MAX_OPERATORS {
            return Err(SqlError::at(left, format!("an expression chains {length} operators; {MAX_OPERATORS} are the most")));
        }
        match ast {
            Ast::Identifier(name) => match self.scope.resolve(std::slice::from_ref(name)) {
                Err(_) if name.quote_style.is_none() && is_niladic(&name.value) => call(ast, &name.value.to_uppercase(), vec![]),
                other => other,
            },
            Ast::CompoundIdentifier(parts) => self.scope.resolve(parts),
            Ast::CompoundFieldAccess { root, access_chain } => self.bind_access(root, access_chain),
            Ast::Nested(inner) => self.bind(inner),
            Ast::Value(v) => literal::bind_value(&v.value),
            Ast::TypedString(t) => literal::bind_typed_string(t),
            Ast::Interval(i) => literal::bind_interval(i),
            Ast::UnaryOp { op, expr } => self.bind_unary(ast, *op, expr),
            Ast::BinaryOp { left, op, right } => self.bind_binary(ast, left, op, right),
            Ast::IsNull(e) => self.call_on(ast, "IS NULL", &[e]),
            Ast::IsNotNull(e) => self.call_on(ast, "IS NOT NULL", &[e]),
            Ast::IsTrue(e) => self.call_on(ast, "IS TRUE", &[e]),
            Ast::IsNotTrue(e) => self.call_on(ast, "IS NOT TRUE", &[e]),
            Ast::IsFalse(e) => self.call_on(ast, "IS FALSE", &[e]),
            Ast::IsNotFalse(e) => self.call_on(ast, "IS NOT FALSE", &[e]),
            Ast::IsUnknown(e) => self.call_on(ast, "IS UNKNOWN", &[e]),
            Ast::IsNotUnknown(e) => self.call_on(ast, "IS NOT UNKNOWN", &[e]),
            Ast::IsDistinctFrom(a, b) => self.call_on(ast, "IS DISTINCT FROM", &[a, b]),
            Ast::IsNotDistinctFrom(a, b) => self.call_on(ast, "IS NOT DISTINCT FROM", &[a, b]),
            Ast::Between { expr, negated, low, high } => {
                let (value, low, high) = (self.bind(expr)?, self.bind(low)?, self.bind(high)?);
                let above = call(ast, ">=", vec![value.clone(), low])?;
                let below = call(ast, "<=", vec![value, high])?;
                negate(ast, *negated, call(ast, "AND", vec![above, below])?)
            }
            Ast::InList { expr, list, negated } => {
                let value = self.bind(expr)?;
                let items = list.iter().map(|e| self.bind(e)).collect::<SqlResult<Vec<_>>>()?;
                negate(ast, *negated, in_list(ast, value, items)?)
            }
            Ast::Like { negated, any: false, expr, pattern, escape_char } | Ast::SimilarTo { negated, expr, pattern, escape_char } => {
                let name = if matches!(ast, Ast::Like { .. }) { "LIKE" } else { "SIMILAR TO" };
                let mut args = vec![self.bind(expr)?, self.bind(pattern)?];
                if let Some(escape) = escape_char {
                    args.push(literal::bind_value(&escape.value)?);
                }
                negate(ast, *negated, call(ast, name, args)?)
            }
            Ast::Case { operand, conditions, else_result, .. } => {
                let operand = operand.as_deref().map(|o| self.bind(o)).transpose()?;
                let mut branches = Vec::with_capacity(conditions.len());
                for when in conditions {
                    let condition = match &operand {
                        None => self.condition(&when.condition)?,
                        Some(o) => {
                            let value = self.bind(&when.condition)?;
                            call(&when.condition, "=", vec![o.clone(), value])?
                        }
                    };
                    branches.push((condition, self.bind(&when.result)?));
                }
                let otherwise = else_result.as_deref().map(|e| self.bind(e)).transpose()?;
                build::case(branches, otherwise).map_err(|e| SqlError::at(ast, e))
            }
            Ast::Position { expr, r#in } => self.call_on(ast, "POSITION", &[expr, r#in]),
            Ast::Substring { expr, substring_from, substring_for, .. } => {
                let from = substring_from.as_deref().map_or_else(|| Ok(build::literal_int(1)), |e| self.bind(e))?;
                let mut args = vec![self.bind(expr)?, from];
                if let Some(length) = substring_for {
                    args.push(self.bind(length)?);
                }
                call(ast, "SUBSTRING", args)
            }
            Ast::Trim { trim_where, trim_what, expr, .. } => {
                let mode = match trim_where {
                    Some(TrimWhereField::Leading) => "LEADING",
                    Some(TrimWhereField::Trailing) => "TRAILING",
                    _ => "BOTH",
                };
                let what = trim_what.as_deref().map_or_else(|| Ok(literal::text_literal(" ")), |e| self.bind(e))?;
                let value = self.bind(expr)?;
                call(ast, "TRIM", vec![literal::text_literal(mode), what, value])
            }
            Ast::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
                let mut args = vec![self.bind(expr)?, self.bind(overlay_what)?, self.bind(overlay_from)?];
                if let Some(length) = overlay_for {
                    args.push(self.bind(length)?);
                }
                call(ast, "OVERLAY", args)
            }
            Ast::Array(array) => {
                let items = array.elem.iter().map(|e| self.bind(e)).collect::<SqlResult<Vec<_>>>()?;
                call(ast, "ARRAY", items)
            }
            Ast::Tuple(items) => {
                let items = items.iter().map(|e| self.bind(e)).collect::<SqlResult<Vec<_>>>()?;
                call(ast, "ROW", items)
            }
            Ast::Function(function) => self.bind_function(ast, function),
            Ast::Subquery(query) => match self.extension.as_deref_mut() {
                Some(extension) => extension.scalar(ast, query, self.scope),
                None => Err(SqlError::unsupported(ast, "a subquery here")),
            },
            Ast::Exists { subquery, negated } => match self.extension.as_deref_mut() {
                Some(extension) => negate(ast, *negated, extension.exists(ast, subquery, self.scope)?),
                None => Err(SqlError::unsupported(ast, "EXISTS here")),
            },
            Ast::InSubquery { expr, subquery, negated } => {
                let value = self.bind(expr)?;
                match self.extension.as_deref_mut() {
                    Some(extension) => negate(ast, *negated, extension.is_in(ast, value, subquery, self.scope)?),
                    None => Err(SqlError::unsupported(ast, "IN (SELECT ...) here")),
                }
            }
            other => Err(SqlError::unsupported(ast, format!("the expression {other}"))),
        }
    }

    fn call_on(&mut self, ast: &Ast, name: &str, args: &[&Ast]) -> SqlResult<Expr> {
        let args = args.iter().map(|a| self.bind(a)).collect::<SqlResult<Vec<_>>>()?;
        call(ast, name, args)
    }

    fn bind_access(&mut self, root: &Ast, chain: &[AccessExpr]) -> SqlResult<Expr> {
        // `t.tags[1]` comes as an access on the identifier t, then .tags, then [1].
        let mut names = Vec::new();
        let mut rest = chain;
        if let Ast::Identifier(first) = root {
            names.push(first.clone());
            while let [AccessExpr::Dot(Ast::Identifier(next)), more @ ..] = rest {
                names.push(next.clone());
                rest = more;
            }
        }
        let mut value = if names.is_empty() { self.bind(root)? } else { self.scope.resolve(&names)? };
        for access in rest {
            value = match access {
                AccessExpr::Dot(Ast::Identifier(name)) => fields(value, std::slice::from_ref(name))?,
                AccessExpr::Subscript(Subscript::Index { index }) => {
                    let at = self.bind(index)?;
                    build::index(value, at).map_err(|e| SqlError::at(index, e))?
                }
                other => return Err(SqlError::unsupported(root, format!("the access {other}"))),
            };
        }
        Ok(value)
    }

    fn bind_unary(&mut self, ast: &Ast, op: UnaryOperator, expr: &Ast) -> SqlResult<Expr> {
        // -9223372036854775808 is a BIGINT, though its digits alone are not.
        if op == UnaryOperator::Minus
            && let Ast::Value(v) = expr
            && let Value::Number(text, _) = &v.value
            && let Ok(value) = format!("-{text}").parse::<i64>()
        {
            return Ok(build::literal_int(value));
        }
        let value = self.bind(expr)?;
        match op {
            UnaryOperator::Plus => Ok(value),
            UnaryOperator::Minus => call(ast, "NEGATE", vec![value]),
            UnaryOperator::Not => call(ast, "NOT", vec![value]),
            other => Err(SqlError::unsupported(ast, format!("the operator {other}"))),
        }
    }

    fn bind_binary(&mut self, ast: &Ast, left: &Ast, op: &BinaryOperator, right: &Ast) -> SqlResult<Expr> {
        let name = match op {
            BinaryOperator::Plus => "+",
            BinaryOperator::Minus => "-",
            BinaryOperator::Multiply => "*",
            BinaryOperator::Divide => "/",
            BinaryOperator::Modulo => "%",
            BinaryOperator::StringConcat => "||",
            BinaryOperator::Gt => ">",
            BinaryOperator::Lt => "<",
            BinaryOperator::GtEq => ">=",
            BinaryOperator::LtEq => "<=",
            BinaryOperator::Eq => "=",
            BinaryOperator::NotEq => "<>",
            BinaryOperator::And => "AND",
            BinaryOperator::Or => "OR",
            BinaryOperator::Overlaps => return self.bind_overlaps(ast, left, right),
            other => return Err(SqlError::unsupported(ast, format!("the operator {other}"))),
        };
        let args = vec![self.bind(left)?, self.bind(right)?];
        call(ast, name, args)
    }

    fn bind_overlaps(&mut self, ast: &Ast, left: &Ast, right: &Ast) -> SqlResult<Expr> {
        let (Ast::Tuple(l), Ast::Tuple(r)) = (left, right) else {
            return Err(SqlError::at(ast, "OVERLAPS takes two pairs: (start, end) OVERLAPS (start, end)"));
        };
        let args = l.iter().chain(r).map(|e| self.bind(e)).collect::<SqlResult<Vec<_>>>()?;
        call(ast, "OVERLAPS", args)
    }

    /// CURRENT_WATERMARK is about a row time.
    fn check_row_time(&mut self, ast: &Ast, arguments: &[Ast]) -> SqlResult<()> {
        let [argument] = arguments else { return Err(SqlError::at(ast, "CURRENT_WATERMARK takes one argument, a row time")) };
        match self.bind(argument)? {
            Expr::Column { index, .. } if self.scope.columns.get(index).is_some_and(|c| c.column.is_row_time()) => Ok(()),
            _ => {
                let error = SqlError::at(argument, "CURRENT_WATERMARK takes a row time: the column of a table's WATERMARK");
                Err(error.hint(Some("declare WATERMARK FOR column AS ... in CREATE TABLE".into())))
            }
        }
    }

    fn bind_function(&mut self, ast: &Ast, function: &Function) -> SqlResult<Expr> {
        let name = function.name.to_string().to_uppercase().replace('`', "");
        let distinct = matches!(&function.args, FunctionArguments::List(l) if l.duplicate_treatment == Some(DuplicateTreatment::Distinct));
        let refused = [
            (function.null_treatment.is_some(), "IGNORE NULLS or RESPECT NULLS"),
            (!function.within_group.is_empty(), "WITHIN GROUP"),
            (!matches!(function.parameters, FunctionArguments::None), "a call with two lists of arguments"),
            (function.uses_odbc_syntax, "{fn ...}"),
            (distinct && !is_aggregate(&name), "DISTINCT in a function that is no aggregate"),
        ];
        if let Some((_, what)) = refused.iter().find(|(there, _)| *there) {
            return Err(SqlError::unsupported(ast, what));
        }
        let arguments = arguments(function)?;
        if let Some(window) = &function.over {
            let Some(over) = self.over.as_deref_mut() else {
                return Err(SqlError::at(ast, "a window function (OVER) can only stand in the SELECT list and in QUALIFY"));
            };
            let filter = function.filter.as_deref();
            let call = OverSyntax { name: &name, arguments: &arguments, filter, distinct, over: window };
            return over.add(ast, &call, self.scope, self.aggregates.as_deref_mut().ok());
        }
        if let Some(extension) = self.extension.as_deref_mut()
            && let Some(expr) = extension.function(ast, &name, &arguments, self.scope)?
        {
            return Ok(expr);
        }
        if let Some(bound) = window_group::window_bound(&name) {
            let columns = self
                .scope
                .group_window
                .ok_or_else(|| SqlError::at(ast, format!("{name} needs GROUP BY {}(...)", name.split('_').next().unwrap_or_default())))?;
            let column = columns[bound];
            return Ok(Expr::column(column, self.scope.columns[column].column.ty.clone()));
        }
        match name.as_str() {
            dialect::CAST | dialect::TRY_CAST => {
                let Ast::Value(v) = &arguments[1] else { return Err(SqlError::new("a cast without a type")) };
                let Value::SingleQuotedString(encoded) = &v.value else { return Err(SqlError::new("a cast without a type")) };
                let ty: LogicalType = serde_json::from_str(encoded).map_err(|e| SqlError::new(e.to_string()))?;
                let value = self.bind(&arguments[0])?;
                let nullable = value.ty().nullable || name == dialect::TRY_CAST;
                return build::cast(value, ty.with_nullable(nullable), name == dialect::TRY_CAST).map_err(|e| SqlError::at(ast, e));
            }
            _ => {}
        }
        if is_aggregate(&name) || name == "GROUPING" || name == "GROUPING_ID" {
            return self.bind_aggregate(ast, &name, function, &arguments, distinct);
        }
        if function.filter.is_some() {
            return Err(SqlError::at(ast, format!("FILTER is for aggregates; {name} is none")));
        }
        if name == "CURRENT_WATERMARK" {
            self.check_row_time(ast, &arguments)?;
        }
        let name = match name.as_str() {
            dialect::MAP => "MAP",
            dialect::IS_JSON => "IS JSON",
            dialect::CEIL_TO => "CEIL",
            dialect::FLOOR_TO => "FLOOR",
            dialect::EXTRACT => "EXTRACT",
            "MOD" => "%",
            other => other,
        };
        if name == JSON {
            return Err(SqlError::at(ast, "JSON(text) can stand only as a value in JSON_OBJECT or JSON_ARRAY"));
        }
        if functions::find(name).is_none() {
            let known = functions::names().chain(aggregate::names());
            return Err(SqlError::at(ast, format!("no function '{name}'")).hint(did_you_mean(name, known)));
        }
        let mut args = Vec::with_capacity(arguments.len());
        for (i, argument) in arguments.iter().enumerate() {
            // TIMESTAMPADD(DAY, ...): the unit is written as a name.
            match argument {
                Ast::Identifier(unit) if i == 0 && matches!(name, "TIMESTAMPADD" | "TIMESTAMPDIFF") => {
                    args.push(literal::text_literal(&unit.value.to_uppercase()));
                }
                // Of JSON_OBJECT, keys and values come in turn.
                _ if name == "JSON_ARRAY" || (name == "JSON_OBJECT" && i % 2 == 1) => args.push(self.bind_json_value(argument)?),
                _ => args.push(self.bind(argument)?),
            }
        }
        call(ast, name, args)
    }

    /// A value within JSON, where `JSON(text)` may stand: it goes in as the document that it is.
    fn bind_json_value(&mut self, ast: &Ast) -> SqlResult<Expr> {
        match ast {
            Ast::Nested(inner) => self.bind_json_value(inner),
            Ast::Function(function) if function.name.to_string().eq_ignore_ascii_case(JSON) => {
                let args = arguments(function)?.iter().map(|a| self.bind(a)).collect::<SqlResult<Vec<_>>>()?;
                call(ast, JSON, args)
            }
            other => self.bind(other),
        }
    }

    fn bind_aggregate(&mut self, ast: &Ast, name: &str, function: &Function, arguments: &[Ast], distinct: bool) -> SqlResult<Expr> {
        let place = match &self.aggregates {
            Ok(_) => None,
            Err(place) => Some(*place),
        };
        if let Some(place) = place {
            return Err(SqlError::at(ast, format!("the aggregate {name} is not allowed in {place}")).hint(match place {
                "WHERE" => Some("filter groups with HAVING".into()),
                _ => None,
            }));
        }
        let mut inner = ExprBinder::plain(self.scope, "the argument of an aggregate");
        let args = arguments.iter().map(|a| inner.bind(a)).collect::<SqlResult<Vec<_>>>()?;
        let filter = function.filter.as_deref().map(|f| inner.condition(f)).transpose()?;
        let Ok(aggregates) = &mut self.aggregates else { return Err(SqlError::new("no place for an aggregate")) };
        aggregates.add(ast, name, args, filter, distinct)
    }
}

/// Whether a function is an aggregate. The JSON ones come from the parser with their treatment of NULL in the name.
pub(super) fn is_aggregate(name: &str) -> bool {
    aggregate::names().any(|n| n == name) || ["JSON_OBJECTAGG_", "JSON_ARRAYAGG_"].iter().any(|n| name.starts_with(n))
}

/// The plain arguments of a call; `COUNT(*)` has none.
pub(crate) fn arguments(function: &Function) -> SqlResult<Vec<Ast>> {
    let list = match &function.args {
        FunctionArguments::None => return Ok(Vec::new()),
        FunctionArguments::Subquery(q) => return Ok(vec![Ast::Subquery(q.clone())]),
        FunctionArguments::List(list) => list,
    };
    if let Some(clause) = list.clauses.first() {
        return Err(SqlError::at(&function.name, format!("'{clause}' in a call is not supported yet")));
    }
    let mut arguments = Vec::with_capacity(list.args.len());
    for arg in &list.args {
        match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) => arguments.push(e.clone()),
            FunctionArg::Unnamed(FunctionArgExpr::Wildcard) if list.args.len() == 1 => {
                if list.duplicate_treatment == Some(DuplicateTreatment::Distinct) {
                    return Err(SqlError::at(&function.name, "DISTINCT * is not allowed: name the columns"));
                }
                if !function.name.to_string().eq_ignore_ascii_case("COUNT") {
                    return Err(SqlError::at(&function.name, format!("'*' is an argument of COUNT only, not of {}", function.name)));
                }
            }
            other => return Err(SqlError::at(&function.name, format!("the argument '{other}' is not supported"))),
        }
    }
    Ok(arguments)
}

/// Calls a function of the library; errors point at `ast`.
pub(super) fn call(ast: &impl Spanned, name: &str, args: Vec<Expr>) -> SqlResult<Expr> {
    build::call(name, args).map_err(|e| SqlError::at(ast, e))
}

fn negate(ast: &Ast, negated: bool, expr: Expr) -> SqlResult<Expr> {
    if negated { call(ast, "NOT", vec![expr]) } else { Ok(expr) }
}

/// IN over constants is one call; otherwise it is a chain of comparisons.
fn in_list(ast: &Ast, value: Expr, items: Vec<Expr>) -> SqlResult<Expr> {
    let types: Vec<LogicalType> = std::iter::once(&value).chain(&items).map(|e| e.ty().clone()).collect();
    let Some(common) = build::common_type(&types) else {
        let list = types[1..].iter().map(|t| t.kind.to_string()).collect::<Vec<_>>().join(", ");
        return Err(SqlError::at(ast, format!("{} cannot be compared with a list of {list}", types[0].kind)));
    };
    let cast = |e: Expr| {
        let nullable = e.ty().nullable;
        build::cast(e, common.clone().with_nullable(nullable), false).map_err(|e| SqlError::at(ast, e))
    };
    let value = cast(value)?;
    let items = items.into_iter().map(cast).collect::<SqlResult<Vec<_>>>()?;
    if items.iter().all(|i| matches!(i, Expr::Literal { .. })) && items.len() > 1 {
        return call(ast, "IN", std::iter::once(value).chain(items).collect());
    }
    let mut chain: Option<Expr> = None;
    for item in items {
        let equal = call(ast, "=", vec![value.clone(), item])?;
        chain = Some(match chain {
            None => equal,
            Some(c) => call(ast, "OR", vec![c, equal])?,
        });
    }
    Ok(chain.unwrap_or_else(|| build::literal_bool(false)))
}

fn is_niladic(name: &str) -> bool {
    ["CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP", "CURRENT_ROW_TIMESTAMP", "PI", "E"]
        .iter()
        .any(|n| n.eq_ignore_ascii_case(name))
}
