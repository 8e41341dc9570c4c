//! Conditions on columns: which can be applied, to rows and to statistics.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Datum, Int64Array, Scalar, StringArray};
use arrow::compute::kernels::cmp;
use arrow::compute::{and, cast, not};
use arrow::datatypes::DataType;
use rheos_core::connector::{Comparison, Predicate, PredicateValue};
use rheos_core::schema::Schema;
use rheos_core::types::TypeKind;
use rheos_core::{Error, Result};

/// Whether a condition can be applied exactly: the constant is of the column's type.
pub(crate) fn is_applied(schema: &Schema, predicate: &Predicate) -> bool {
    let kind = schema.fields.get(predicate.path.column).filter(|_| predicate.path.fields.is_empty()).map(|f| &f.ty.kind);
    match (&predicate.value, kind) {
        (PredicateValue::Int(_), Some(kind)) => kind.is_integer(),
        (PredicateValue::Text(_), Some(kind)) => matches!(kind, TypeKind::Varchar(_)),
        (PredicateValue::Bool(_), Some(kind)) => *kind == TypeKind::Boolean,
        (_, None) => false,
    }
}

/// For each value whether the condition holds; NULL where it is NULL.
pub(crate) fn holds(values: &ArrayRef, predicate: &Predicate) -> Result<BooleanArray> {
    let (values, constant) = comparable(values, &predicate.value)?;
    compare(&values, predicate.comparison, constant.as_ref())
}

/// For each pair of bounds whether a value between them may satisfy the condition. Bounds that are not known exclude nothing.
pub(crate) fn may_hold(min: &ArrayRef, max: &ArrayRef, predicate: &Predicate) -> Result<Vec<bool>> {
    let (min, constant) = comparable(min, &predicate.value)?;
    let (max, _) = comparable(max, &predicate.value)?;
    let constant = constant.as_ref();
    let may = match predicate.comparison {
        Comparison::Equal => {
            and(&compare(&min, Comparison::LessOrEqual, constant)?, &compare(&max, Comparison::GreaterOrEqual, constant)?)?
        }
        Comparison::NotEqual => not(&and(&compare(&min, Comparison::Equal, constant)?, &compare(&max, Comparison::Equal, constant)?)?)?,
        below @ (Comparison::Less | Comparison::LessOrEqual) => compare(&min, below, constant)?,
        above @ (Comparison::Greater | Comparison::GreaterOrEqual) => compare(&max, above, constant)?,
    };
    Ok((0..may.len()).map(|i| may.is_null(i) || may.value(i)).collect())
}

/// Values and constant in one type. Numbers of all widths are compared as the widest.
fn comparable(values: &ArrayRef, constant: &PredicateValue) -> Result<(ArrayRef, Box<dyn Datum>)> {
    let unlike = || Error::bug(format!("{constant:?} is compared with {}", values.data_type()));
    Ok(match constant {
        PredicateValue::Int(n) => (cast(values, &DataType::Int64)?, Box::new(Int64Array::new_scalar(*n))),
        PredicateValue::Text(text) => {
            values.as_string_opt::<i32>().ok_or_else(unlike)?;
            (values.clone(), Box::new(StringArray::new_scalar(text)))
        }
        PredicateValue::Bool(b) => {
            values.as_boolean_opt().ok_or_else(unlike)?;
            (values.clone(), Box::new(Scalar::new(BooleanArray::from(vec![*b]))))
        }
    })
}

fn compare(values: &ArrayRef, comparison: Comparison, constant: &dyn Datum) -> Result<BooleanArray> {
    Ok(match comparison {
        Comparison::Equal => cmp::eq(values, constant)?,
        Comparison::NotEqual => cmp::neq(values, constant)?,
        Comparison::Less => cmp::lt(values, constant)?,
        Comparison::LessOrEqual => cmp::lt_eq(values, constant)?,
        Comparison::Greater => cmp::gt(values, constant)?,
        Comparison::GreaterOrEqual => cmp::gt_eq(values, constant)?,
    })
}
