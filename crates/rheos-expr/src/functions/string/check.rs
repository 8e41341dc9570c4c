//! What texts consist of. NULL and the empty text are nothing.

use arrow::array::BooleanArray;

use rheos_core::error::Result;
use rheos_core::text::parse_double;

use crate::function::{Call, Value};
use crate::functions::kernel::{collect, texts};

fn check(call: &Call<'_>, of_text: fn(&str) -> bool, of_number: bool) -> Result<Value> {
    if call.arg_types.first().is_some_and(|ty| ty.kind.is_numeric()) {
        let argument = super::super::kernel::argument(call, 0)?;
        let array = argument.array();
        return collect::<BooleanArray, _>(call, |row| Some(of_number && array.is_valid(if argument.is_constant() { 0 } else { row })));
    }
    let text = texts(call, 0)?;
    collect::<BooleanArray, _>(call, |row| Some(text.get(row).is_some_and(|t| !t.is_empty() && of_text(t))))
}

pub(super) fn is_alpha(call: &Call<'_>) -> Result<Value> {
    check(call, |text| text.chars().all(char::is_alphabetic), false)
}

pub(super) fn is_digit(call: &Call<'_>) -> Result<Value> {
    let exact = call.arg_types.first().is_some_and(|ty| ty.kind.is_integer());
    check(call, |text| text.chars().all(char::is_numeric), exact)
}

/// A number as Java reads one, with blanks around it.
pub(super) fn is_decimal(call: &Call<'_>) -> Result<Value> {
    check(call, |text| parse_double(text.trim()).is_some(), true)
}
