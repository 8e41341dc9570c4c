//! MATCH_RECOGNIZE.

use sqlparser::ast::{
    AfterMatchSkip, Expr as Ast, Ident, MatchRecognizePattern, MatchRecognizeSymbol, Measure, OrderByExpr, RepetitionQuantifier,
    RowsPerMatch, SymbolDefinition, TableFactor,
};

use rheos_core::types::TypeKind;
use rheos_expr::{Expr, Literal};
use rheos_operators::spec::{AfterMatch, AggregateCall, MatchExprs, MatchReference, PatternElement};

use super::Binder;
use super::aggregate::AggregateCollector;
use super::expr::{ExprBinder, Extension};
use super::order::sort_key;
use super::scope::{AGGREGATE_BASE, NAVIGATION_BASE, Scope, ScopeColumn};
use crate::error::{SqlError, SqlResult};
use crate::parser::WITHIN;
use crate::plan::{Column, MatchPattern, Plan};

/// The clauses of a MATCH_RECOGNIZE.
pub(super) struct MatchSyntax<'a> {
    pub(super) at: &'a TableFactor,
    pub(super) table: &'a TableFactor,
    pub(super) partition_by: &'a [Ast],
    pub(super) order_by: &'a [OrderByExpr],
    pub(super) measures: &'a [Measure],
    pub(super) rows_per_match: Option<&'a RowsPerMatch>,
    pub(super) after: Option<&'a AfterMatchSkip>,
    pub(super) pattern: &'a MatchRecognizePattern,
    pub(super) symbols: &'a [SymbolDefinition],
}

impl Binder<'_> {
    pub(super) fn bind_match(&mut self, syntax: &MatchSyntax<'_>, outer: Option<&Scope<'_>>) -> SqlResult<Plan> {
        if let Some(RowsPerMatch::AllRows(_)) = syntax.rows_per_match {
            return Err(SqlError::unsupported(syntax.at, "ALL ROWS PER MATCH").hint(Some("ONE ROW PER MATCH is".into())));
        }
        let (input, scope) = self.bind_table_factor(syntax.table, outer)?;
        if !input.changelog.is_insert_only() {
            return Err(SqlError::at(syntax.at, "MATCH_RECOGNIZE needs an input whose rows are only added"));
        }
        let mut columns = Columns { projections: input.all_columns(), names: input.names() };
        let mut partition = Vec::with_capacity(syntax.partition_by.len());
        for ast in syntax.partition_by {
            partition.push(columns.of(ExprBinder::plain(&scope, "PARTITION BY").bind(ast)?));
        }
        let (time, order) = bind_order(syntax, &scope, &input, &mut columns)?;

        let mut elements = Vec::new();
        let mut variables: Vec<Ident> = Vec::new();
        flatten(syntax.at, syntax.pattern, &mut elements, &mut variables)?;
        if elements.iter().all(|e| e.min == 0) {
            return Err(SqlError::at(syntax.at, "the PATTERN matches no rows at all: some variable must match at least one row"));
        }
        let mut within_ms = None;
        let mut defines: Vec<Option<MatchExprs>> = vec![None; variables.len()];
        for symbol in syntax.symbols {
            if symbol.symbol.value == WITHIN {
                within_ms = Some(bind_within(&symbol.definition)?);
                continue;
            }
            let Some(variable) = variables.iter().position(|v| v.value == symbol.symbol.value) else {
                return Err(
                    SqlError::new(format!("DEFINE names '{}', which is not in the PATTERN", symbol.symbol.value)).or_at(symbol.symbol.span)
                );
            };
            let mut match_binder = MatchBinder::new(&scope, &variables, Some(variable), time, &mut columns);
            let condition = match_binder.bind(&symbol.definition)?;
            if !matches!(condition.ty().kind, TypeKind::Boolean | TypeKind::Null) {
                return Err(SqlError::at(&symbol.definition, format!("a condition must be BOOLEAN, this is {}", condition.ty().kind)));
            }
            defines[variable] = Some(MatchExprs { references: match_binder.references, exprs: vec![condition] });
        }
        let mut match_binder = MatchBinder::new(&scope, &variables, None, time, &mut columns);
        let (mut exprs, mut names, mut row_time) = (Vec::new(), Vec::new(), None);
        for measure in syntax.measures {
            let expr = match_binder.bind(&measure.expr)?;
            if is_row_time(&measure.expr) {
                row_time = Some(exprs.len());
            }
            exprs.push(expr);
            names.push(measure.alias.value.clone());
        }
        if exprs.is_empty() && partition.is_empty() {
            return Err(SqlError::at(syntax.at, "MATCH_RECOGNIZE without MEASURES and PARTITION BY has no columns"));
        }
        let measures = MatchExprs { references: match_binder.references, exprs };
        let after = bind_after(syntax, &variables, &elements)?;
        let names_of_variables = variables.iter().map(|v| v.value.clone()).collect();
        let prepared = columns.finish(input);
        let pattern = MatchPattern {
            partition,
            time,
            order,
            variables: names_of_variables,
            elements,
            defines,
            measures,
            names,
            row_time,
            after,
            within_ms,
        };
        Ok(Plan::pattern(prepared, pattern))
    }
}

/// The columns of the input, and further ones that are computed.
struct Columns {
    projections: Vec<Expr>,
    names: Vec<String>,
}

impl Columns {
    fn of(&mut self, expr: Expr) -> usize {
        self.projections.iter().position(|p| *p == expr).unwrap_or_else(|| {
            self.names.push(format!("$match{}", self.projections.len()));
            self.projections.push(expr);
            self.projections.len() - 1
        })
    }

    fn finish(self, input: Plan) -> Plan {
        if self.projections.len() == input.columns.len() { input } else { Plan::calc(input, None, self.projections, self.names) }
    }
}

fn bind_order(
    syntax: &MatchSyntax<'_>,
    scope: &Scope<'_>,
    input: &Plan,
    columns: &mut Columns,
) -> SqlResult<(usize, Vec<rheos_operators::spec::SortKey>)> {
    let Some((first, rest)) = syntax.order_by.split_first() else {
        return Err(SqlError::at(syntax.at, "MATCH_RECOGNIZE needs ORDER BY, a row time first"));
    };
    let time = match ExprBinder::plain(scope, "ORDER BY").bind(&first.expr)? {
        Expr::Column { index, .. } if input.columns.get(index).is_some_and(|c| c.time.is_some()) => index,
        _ => {
            let error = SqlError::at(&first.expr, "ORDER BY of MATCH_RECOGNIZE begins with a row time");
            return Err(error.hint(Some("a TIMESTAMP column with a WATERMARK in CREATE TABLE is one".into())));
        }
    };
    if first.options.asc == Some(false) {
        return Err(SqlError::at(&first.expr, "MATCH_RECOGNIZE goes on in time: its row time must ascend"));
    }
    let mut order = Vec::with_capacity(rest.len());
    for item in rest {
        let column = columns.of(ExprBinder::plain(scope, "ORDER BY").bind(&item.expr)?);
        order.push(sort_key(column, item.options.asc, item.options.nulls_first));
    }
    Ok((time, order))
}

fn bind_within(ast: &Ast) -> SqlResult<i64> {
    match ExprBinder::plain(&Scope::default(), "WITHIN").bind(ast)? {
        Expr::Literal { value: Literal::Int(ms), ty } if ty.kind == TypeKind::IntervalDayTime && ms > 0 => Ok(ms),
        _ => Err(SqlError::at(ast, "WITHIN takes a constant INTERVAL of days to seconds, more than zero")),
    }
}

fn bind_after(syntax: &MatchSyntax<'_>, variables: &[Ident], elements: &[PatternElement]) -> SqlResult<AfterMatch> {
    let variable = |name: &Ident| {
        let found = variables.iter().position(|v| v.value == name.value);
        found.ok_or_else(|| SqlError::new(format!("AFTER MATCH SKIP TO '{}', which is not in the PATTERN", name.value)).or_at(name.span))
    };
    Ok(match syntax.after {
        None | Some(AfterMatchSkip::PastLastRow) => AfterMatch::PastLastRow,
        Some(AfterMatchSkip::ToNextRow) => AfterMatch::ToNextRow,
        Some(AfterMatchSkip::ToFirst(name)) => {
            let variable = variable(name)?;
            if elements[0].variable == variable && elements[0].min > 0 {
                return Err(
                    SqlError::new("AFTER MATCH SKIP TO the first row of a match would find the same match for ever").or_at(name.span)
                );
            }
            AfterMatch::ToFirst(variable)
        }
        Some(AfterMatchSkip::ToLast(name)) => AfterMatch::ToLast(variable(name)?),
    })
}

/// The elements of a pattern, in order.
fn flatten(
    at: &TableFactor,
    pattern: &MatchRecognizePattern,
    elements: &mut Vec<PatternElement>,
    variables: &mut Vec<Ident>,
) -> SqlResult<()> {
    use MatchRecognizePattern as P;
    let unsupported = |what: &str| Err(SqlError::unsupported(at, format!("{what} in a PATTERN")));
    let mut variable = |name: &Ident| {
        variables.iter().position(|v| v.value == name.value).unwrap_or_else(|| {
            variables.push(name.clone());
            variables.len() - 1
        })
    };
    match pattern {
        P::Symbol(MatchRecognizeSymbol::Named(name)) => {
            elements.push(PatternElement { variable: variable(name), min: 1, max: Some(1), greedy: true });
        }
        P::Concat(parts) => parts.iter().try_for_each(|p| flatten(at, p, elements, variables))?,
        P::Group(inner) => flatten(at, inner, elements, variables)?,
        P::Repetition(inner, quantifier) => {
            // A quantifier with `?` behind it is reluctant.
            let (symbol, quantifier, greedy) = match inner.as_ref() {
                P::Repetition(symbol, first) if *quantifier == RepetitionQuantifier::AtMostOne => (symbol.as_ref(), first, false),
                symbol => (symbol, quantifier, true),
            };
            let mut symbol = symbol;
            while let P::Group(inner) = symbol {
                symbol = inner;
            }
            let P::Symbol(MatchRecognizeSymbol::Named(name)) = symbol else {
                return unsupported("a quantifier on more than one variable");
            };
            let (min, max) = match quantifier {
                RepetitionQuantifier::ZeroOrMore => (0, None),
                RepetitionQuantifier::OneOrMore => (1, None),
                RepetitionQuantifier::AtMostOne => (0, Some(1)),
                RepetitionQuantifier::Exactly(n) => (*n, Some(*n)),
                RepetitionQuantifier::AtLeast(n) => (*n, None),
                RepetitionQuantifier::AtMost(n) => (0, Some(*n)),
                RepetitionQuantifier::Range(n, m) => (*n, Some(*m)),
            };
            if max.is_some_and(|max| max < min || max == 0) {
                return Err(SqlError::new(format!("the quantifier of '{}' asks for {min} to {} rows", name.value, max.unwrap_or(0)))
                    .or_at(name.span));
            }
            elements.push(PatternElement { variable: variable(name), min, max, greedy });
        }
        P::Alternation(_) => return unsupported("an alternative (|)"),
        P::Permute(_) => return unsupported("PERMUTE"),
        P::Exclude(_) => return unsupported("an exclusion ({- -})"),
        P::Symbol(_) => return unsupported("^ or $"),
    }
    Ok(())
}

fn is_row_time(ast: &Ast) -> bool {
    matches!(ast, Ast::Function(f) if f.name.to_string().eq_ignore_ascii_case("MATCH_ROWTIME"))
}

/// Binds expressions over a match. Their columns are bound over a scope that has the input's columns once for the row at hand,
/// and once more for each variable; then each becomes a reference.
struct MatchBinder<'s, 'p> {
    scope: Scope<'p>,
    width: usize,
    variables: &'s [Ident],
    /// The variable that is defined; `None` in MEASURES.
    defined: Option<usize>,
    time: usize,
    columns: &'s mut Columns,
    references: Vec<MatchReference>,
    navigations: Vec<MatchReference>,
}

impl<'s, 'p> MatchBinder<'s, 'p> {
    fn new(input: &Scope<'p>, variables: &'s [Ident], defined: Option<usize>, time: usize, columns: &'s mut Columns) -> Self {
        let width = input.columns.len();
        let column = |c: &ScopeColumn, qualifier: Option<String>, nullable: bool| {
            let ty = c.column.ty.clone().with_nullable(c.column.ty.nullable || nullable);
            ScopeColumn { hidden: c.hidden || qualifier.is_some(), qualifier, column: Column { ty, ..c.column.clone() } }
        };
        let mut all: Vec<ScopeColumn> = input.columns.iter().map(|c| column(c, None, defined.is_none())).collect();
        for variable in variables {
            all.extend(input.columns.iter().map(|c| column(c, Some(variable.value.clone()), true)));
        }
        let scope = Scope { columns: all, outer: None, group_window: None };
        MatchBinder { scope, width, variables, defined, time, columns, references: Vec::new(), navigations: Vec::new() }
    }

    fn bind(&mut self, ast: &Ast) -> SqlResult<Expr> {
        let mut collector = AggregateCollector::default();
        let scope = self.scope.clone();
        let mut navigation = Navigation { binder: self };
        let bound = ExprBinder { scope: &scope, aggregates: Ok(&mut collector), over: None, extension: Some(&mut navigation) }.bind(ast)?;
        let mut aggregates = Vec::new();
        for call in collector.calls() {
            let read: Vec<&Expr> = call.args.iter().chain(&call.filter).collect();
            let variable = self.variable_of(ast, &read)?;
            let arg_types = call.args.iter().map(|a| a.ty().clone()).collect();
            let args = call.args.iter().map(|a| self.column_of(a)).collect();
            let filter = call.filter.as_ref().map(|f| self.column_of(f));
            let ty = call.result.clone().with_nullable(call.result.nullable || call.function != "COUNT");
            let call = AggregateCall { function: call.function.clone(), args, arg_types, filter, distinct: call.distinct, ty: ty.clone() };
            aggregates.push((MatchReference::Aggregate { variable, call }, ty));
        }
        Ok(bound.transform(&mut |e| match e {
            Expr::Column { index, ty } if index >= NAVIGATION_BASE => {
                let reference = self.navigations[index - NAVIGATION_BASE].clone();
                self.reference(reference, ty)
            }
            Expr::Column { index, .. } if index >= AGGREGATE_BASE => {
                let (reference, ty) = aggregates[index - AGGREGATE_BASE].clone();
                self.reference(reference, ty)
            }
            Expr::Column { index, ty } => {
                let (variable, column) = (index / self.width, index % self.width);
                let variable = variable.checked_sub(1);
                let reference = match self.defined {
                    Some(defined) if variable.is_none_or(|v| v == defined) => MatchReference::Current { column },
                    _ => MatchReference::Last { variable, column, offset: 0 },
                };
                self.reference(reference, ty)
            }
            other => other,
        }))
    }

    fn reference(&mut self, reference: MatchReference, ty: rheos_core::types::LogicalType) -> Expr {
        let index = self.references.iter().position(|r| *r == reference).unwrap_or_else(|| {
            self.references.push(reference);
            self.references.len() - 1
        });
        Expr::column(index, ty)
    }

    /// The one variable that expressions speak of; `None`: of no variable.
    fn variable_of(&self, at: &Ast, exprs: &[&Expr]) -> SqlResult<Option<usize>> {
        let mut slots: Vec<usize> = exprs.iter().flat_map(|e| e.columns()).map(|c| c / self.width).collect();
        slots.sort_unstable();
        slots.dedup();
        match slots.as_slice() {
            [] => Ok(None),
            [one] if *one <= self.variables.len() => Ok(one.checked_sub(1)),
            _ => Err(SqlError::at(at, "an aggregate or FIRST, LAST and PREV take columns of one variable")),
        }
    }

    /// The input's column that has an expression over one variable, for each row of it.
    fn column_of(&mut self, expr: &Expr) -> usize {
        let width = self.width;
        let over_input = expr.clone().transform(&mut |e| match e {
            Expr::Column { index, .. } => self.columns.projections[index % width].clone(),
            other => other,
        });
        self.columns.of(over_input)
    }
}

/// FIRST, LAST, PREV and MATCH_ROWTIME.
struct Navigation<'b, 's, 'p> {
    binder: &'b mut MatchBinder<'s, 'p>,
}

impl Extension for Navigation<'_, '_, '_> {
    fn function(&mut self, at: &Ast, name: &str, args: &[Ast], scope: &Scope<'_>) -> SqlResult<Option<Expr>> {
        if name == "MATCH_ROWTIME" && args.is_empty() {
            let ty = self.binder.scope.columns[self.binder.time].column.ty.clone();
            let reference = MatchReference::Last { variable: None, column: self.binder.time, offset: 0 };
            return Ok(Some(self.placeholder(reference, ty)));
        }
        if !matches!(name, "FIRST" | "LAST" | "PREV") {
            return Ok(None);
        }
        let (value, offset) = match args {
            [value] => (value, u64::from(name == "PREV")),
            [value, offset] => match ExprBinder::plain(&Scope::default(), "an offset").bind(offset)? {
                Expr::Literal { value: Literal::Int(n), ty } if ty.kind.is_integer() && n >= 0 => (value, n as u64),
                _ => return Err(SqlError::at(offset, format!("{name} takes a constant number of rows, not negative"))),
            },
            _ => return Err(SqlError::at(at, format!("{name} takes a value and a number of rows"))),
        };
        let bound = ExprBinder::plain(scope, "FIRST, LAST or PREV").bind(value)?;
        let variable = self.binder.variable_of(at, &[&bound])?;
        let column = self.binder.column_of(&bound);
        let reference = match name {
            "FIRST" => MatchReference::First { variable, column, offset },
            "LAST" => MatchReference::Last { variable, column, offset },
            _ if variable.is_some() && variable != self.binder.defined => {
                return Err(SqlError::unsupported(at, "PREV of another variable than the one that is defined"));
            }
            _ => MatchReference::Previous { column, offset },
        };
        let ty = bound.ty().clone().with_nullable(true);
        Ok(Some(self.placeholder(reference, ty)))
    }
}

impl Navigation<'_, '_, '_> {
    fn placeholder(&mut self, reference: MatchReference, ty: rheos_core::types::LogicalType) -> Expr {
        self.binder.navigations.push(reference);
        Expr::column(NAVIGATION_BASE + self.binder.navigations.len() - 1, ty)
    }
}
