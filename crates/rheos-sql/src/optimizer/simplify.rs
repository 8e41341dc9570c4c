//! Computes what has become constant after a substitution.

use rheos_expr::{Expr, Literal, build};

/// The node simplified, its parts being simple already: calls of constants are computed, branches of CASE that cannot
/// be taken go, AND and OR with constants shrink. The type stays what it was.
pub(crate) fn simplify_node(expr: Expr) -> Expr {
    match expr {
        Expr::Call { function, args, ty } if function == "AND" || function == "OR" => shrink(function, args, ty),
        Expr::Call { function, args, ty } if !args.is_empty() && args.iter().all(|a| matches!(a, Expr::Literal { .. })) => {
            match build::call(&function, args.clone()) {
                Ok(folded) if folded.ty().kind == ty.kind => folded,
                _ => Expr::Call { function, args, ty },
            }
        }
        Expr::Cast { arg, ty, or_null } if matches!(arg.as_ref(), Expr::Literal { .. }) => {
            build::cast((*arg).clone(), ty.clone(), or_null).unwrap_or(Expr::Cast { arg, ty, or_null })
        }
        Expr::Case { branches, otherwise, ty } => {
            let mut left = Vec::with_capacity(branches.len());
            let mut last = otherwise;
            for (condition, result) in branches {
                match truth(&condition) {
                    Some(true) => {
                        last = Some(Box::new(result));
                        break;
                    }
                    Some(false) => {}
                    None => left.push((condition, result)),
                }
            }
            match (left.is_empty(), last) {
                (true, Some(result)) if result.ty().kind == ty.kind => *result,
                (true, None) => Expr::Literal { value: Literal::Null, ty: ty.with_nullable(true) },
                (_, otherwise) => Expr::Case { branches: left, otherwise, ty },
            }
        }
        other => other,
    }
}

fn shrink(function: String, args: Vec<Expr>, ty: rheos_core::types::LogicalType) -> Expr {
    // For AND false decides and true vanishes; for OR the other way round.
    let decides = function == "OR";
    let mut left = Vec::with_capacity(args.len());
    for arg in args {
        match &arg {
            Expr::Literal { value: Literal::Bool(b), .. } if *b == decides => return arg,
            Expr::Literal { value: Literal::Bool(_), .. } => {}
            _ => left.push(arg),
        }
    }
    match left.len() {
        0 => build::literal_bool(!decides),
        1 => left.remove(0),
        _ => Expr::Call { function, args: left, ty },
    }
}

/// Whether a condition is known to hold; NULL counts as false.
fn truth(condition: &Expr) -> Option<bool> {
    match condition {
        Expr::Literal { value: Literal::Bool(b), .. } => Some(*b),
        Expr::Literal { value: Literal::Null, .. } => Some(false),
        _ => None,
    }
}

/// Replaces column `i` by `exprs[i]` and simplifies.
pub(crate) fn substitute(expr: Expr, exprs: &[Expr]) -> Expr {
    expr.transform(&mut |e| match e {
        Expr::Column { index, .. } => exprs[index].clone(),
        other => simplify_node(other),
    })
}
