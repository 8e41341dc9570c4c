//! Functions that users wrote in SQL. A call is replaced by the function's expression before anything is bound, its parameters by the
//! arguments, cast to their types.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Spanned, VisitMut, VisitorMut};

use rheos_core::types::LogicalType;

use crate::error::{SqlError, SqlResult};
use crate::parser::dialect;
use crate::parser::{CreateFunction, Statement};

/// How deep functions may call each other.
const MAX_DEPTH: usize = 32;

/// The functions of a session, by name in upper case.
#[derive(Debug, Clone, Default)]
pub struct SqlFunctions {
    functions: BTreeMap<String, CreateFunction>,
}

impl SqlFunctions {
    /// Adds a function.
    pub fn add(&mut self, mut function: CreateFunction) -> SqlResult<()> {
        let name = function.name.value.to_uppercase();
        let wrong = |message: String| Err(SqlError::new(message).or_at(function.name.span));
        if rheos_expr::functions::find(&name).is_some() || rheos_operators::spec::aggregate::is_aggregate(&name) {
            return wrong(format!("'{name}' is a function of Rheos"));
        }
        if self.functions.contains_key(&name) && !function.or_replace {
            if function.if_not_exists {
                return Ok(());
            }
            return wrong(format!("the function '{name}' exists already"));
        }
        for (i, (parameter, _)) in function.parameters.iter().enumerate() {
            if function.parameters[..i].iter().any(|(other, _)| other.value == parameter.value) {
                return Err(SqlError::new(format!("the parameter '{}' is there twice", parameter.value)).or_at(parameter.span));
            }
        }
        // Those that it calls are put in now: it stays what it was when they are replaced.
        self.expand_in(&mut function.body)?;
        self.functions.insert(name, function);
        Ok(())
    }

    /// Removes a function.
    pub fn drop(&mut self, name: &sqlparser::ast::Ident, if_exists: bool) -> SqlResult<()> {
        if self.functions.remove(&name.value.to_uppercase()).is_none() && !if_exists {
            return Err(SqlError::new(format!("no function '{}' that was created", name.value)).or_at(name.span));
        }
        Ok(())
    }

    /// The expression with every call of these functions replaced.
    pub fn expanded(&self, expr: &Expr) -> SqlResult<Expr> {
        let mut expr = expr.clone();
        self.expand_in(&mut expr)?;
        Ok(expr)
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.functions.keys().map(String::as_str)
    }

    /// The statement with every call of these functions replaced.
    pub fn expand(&self, statement: &Statement) -> SqlResult<Statement> {
        let mut statement = statement.clone();
        if self.functions.is_empty() {
            return Ok(statement);
        }
        match &mut statement {
            Statement::Query(query) => self.expand_in(query.as_mut())?,
            Statement::Insert(insert) => self.expand_in(insert.query.as_mut())?,
            Statement::StatementSet(inserts) => inserts.iter_mut().try_for_each(|i| self.expand_in(i.query.as_mut()))?,
            Statement::CreateView(view) => self.expand_in(view.query.as_mut())?,
            Statement::Explain(explain) => *explain.statement = self.expand(&explain.statement)?,
            Statement::CreateTable(table) => {
                for column in &mut table.columns {
                    if let crate::parser::ColumnKind::Computed(expr) = &mut column.kind {
                        self.expand_in(expr)?;
                    }
                }
                if let Some(query) = &mut table.query {
                    self.expand_in(query.as_mut())?;
                }
            }
            _ => {}
        }
        Ok(statement)
    }

    fn expand_in(&self, tree: &mut impl VisitMut) -> SqlResult<()> {
        match tree.visit(&mut Expansion { functions: self, depth: 0 }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(error) => Err(error),
        }
    }
}

/// Replaces calls, innermost first.
struct Expansion<'a> {
    functions: &'a SqlFunctions,
    depth: usize,
}

impl VisitorMut for Expansion<'_> {
    type Break = SqlError;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<SqlError> {
        match self.replacement(expr) {
            Ok(None) => ControlFlow::Continue(()),
            Ok(Some(replacement)) => {
                *expr = replacement;
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        }
    }
}

impl Expansion<'_> {
    fn replacement(&mut self, expr: &Expr) -> SqlResult<Option<Expr>> {
        let Expr::Function(call) = expr else { return Ok(None) };
        let name = call.name.to_string().to_uppercase().replace('`', "");
        let Some(function) = self.functions.functions.get(&name) else { return Ok(None) };
        if self.depth >= MAX_DEPTH {
            return Err(SqlError::at(expr, format!("functions call each other more than {MAX_DEPTH} deep")));
        }
        let arguments = crate::binder::arguments(call)?;
        if arguments.len() != function.parameters.len() {
            let known: Vec<String> = function.parameters.iter().map(|(p, ty)| format!("{} {}", p.value, ty.kind)).collect();
            let message = format!("{name} takes {} arguments, not {}", function.parameters.len(), arguments.len());
            return Err(SqlError::at(expr, message).hint(Some(format!("it is {name}({})", known.join(", ")))));
        }
        let mut values = Vec::with_capacity(arguments.len());
        for (argument, (_, ty)) in arguments.into_iter().zip(&function.parameters) {
            values.push(cast(argument, ty, expr.span())?);
        }
        let mut body = function.body.clone();
        let mut parameters = Parameters { function, values: &values };
        let _ = body.visit(&mut parameters);
        let body = match &function.returns {
            Some(ty) => cast(body, ty, expr.span())?,
            None => body,
        };
        Ok(Some(Expr::Nested(Box::new(body))))
    }
}

/// Puts arguments in the place of parameters.
struct Parameters<'a> {
    function: &'a CreateFunction,
    values: &'a [Expr],
}

impl VisitorMut for Parameters<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(name) = expr
            && let Some(at) = self.function.parameters.iter().position(|(p, _)| p.value == name.value)
        {
            *expr = self.values[at].clone();
        }
        ControlFlow::Continue(())
    }
}

fn cast(value: Expr, ty: &LogicalType, span: sqlparser::tokenizer::Span) -> SqlResult<Expr> {
    let encoded = serde_json::to_string(ty).map_err(|e| SqlError::new(e.to_string()))?;
    Ok(dialect::call(dialect::CAST, span, vec![value, dialect::text(encoded, span)]))
}
