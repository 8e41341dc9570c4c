//! Computes calls of constants once, when the expression is built.

use rheos_core::types::TypeKind;

use crate::expr::{EvalConfig, Expr, Literal};
use crate::functions;
use crate::program::Program;
use crate::program::literal::literal_of;

/// The constant that an expression of constants computes to. What depends on the session, has a nested type, or fails
/// stays as it is: it may be in a branch that no row reaches.
pub(super) fn fold(expr: Expr) -> Expr {
    if !is_foldable(&expr) {
        return expr;
    }
    let evaluate = || {
        let mut program = Program::compile(std::slice::from_ref(&expr), &EvalConfig::default()).ok()?;
        let column = program.evaluate(&[], 1).ok()?.pop()?;
        literal_of(column.as_ref(), 0, &expr.ty().kind)
    };
    match evaluate() {
        Some(value) => {
            let mut ty = expr.ty().clone();
            ty.nullable |= value == Literal::Null;
            Expr::Literal { value, ty }
        }
        None => expr,
    }
}

fn is_foldable(expr: &Expr) -> bool {
    let depends = match expr {
        Expr::Column { .. } | Expr::Literal { .. } => true,
        Expr::Call { function, .. } => functions::find(function).is_none_or(|f| !f.deterministic || f.session_dependent),
        Expr::Cast { .. } | Expr::Case { .. } => false,
    };
    let has_zone = |e: &Expr| matches!(e.ty().kind, TypeKind::TimestampLtz(_));
    let children = expr.children();
    !depends && !expr.ty().kind.is_nested() && !has_zone(expr) && children.iter().all(|c| c.literal().is_some() && !has_zone(c))
}
