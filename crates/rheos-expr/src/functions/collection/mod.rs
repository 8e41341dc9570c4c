//! Functions of arrays and maps.

use rheos_core::schema::Field;
use rheos_core::types::{LogicalType, TypeKind};

use crate::build::{common_type, is_implicitly_castable};
use crate::function::{Arg, Function, Signature};

use super::signature::Param::{self, Array, Kind, Map};
use super::signature::{accept, any_nullable, count};

mod combine;
mod element;
mod map;
mod order;
mod search;
mod spans;
#[cfg(test)]
mod tests;

const BOOLEAN: Param = Kind(TypeKind::Boolean);
const LONG: Param = Kind(TypeKind::BigInt);

/// What this family has.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("CARDINALITY", "CARDINALITY(array or map)", cardinality, element::cardinality).cheap(),
    Function::new("ELEMENT", "ELEMENT(array)", |a| Ok(element_of(a, &[])?.0), element::element),
    // Arrays searched.
    Function::new("ARRAY_CONTAINS", "ARRAY_CONTAINS(array, element)", contains, search::contains),
    Function::new("ARRAY_POSITION", "ARRAY_POSITION(array, element)", position, search::position),
    Function::new("ARRAY_REMOVE", "ARRAY_REMOVE(array, element)", remove, search::remove),
    Function::new("ARRAY_MIN", "ARRAY_MIN(array)", extreme, |c| order::extreme(c, false)),
    Function::new("ARRAY_MAX", "ARRAY_MAX(array)", extreme, |c| order::extreme(c, true)),
    // Arrays rearranged.
    Function::new("ARRAY_DISTINCT", "ARRAY_DISTINCT(array)", |a| like_array(a, &[], &[]), combine::distinct),
    Function::new("ARRAY_REVERSE", "ARRAY_REVERSE(array)", |a| like_array(a, &[], &[]), order::reverse),
    Function::new("ARRAY_SLICE", "ARRAY_SLICE(array, start [, end])", |a| like_array(a, &[LONG], &[LONG]), order::slice),
    Function::new("ARRAY_SORT", "ARRAY_SORT(array [, ascending [, nulls first]])", sort, order::sort),
    Function::new("ARRAY_JOIN", "ARRAY_JOIN(array, delimiter [, instead of NULL])", join, element::join),
    // Arrays put together.
    Function::new("ARRAY_CONCAT", "ARRAY_CONCAT(array, ...)", |a| together(a, 1, usize::MAX), combine::concat),
    Function::new("ARRAY_UNION", "ARRAY_UNION(array, array)", |a| together(a, 2, 2), combine::union),
    Function::new("ARRAY_EXCEPT", "ARRAY_EXCEPT(array, array)", |a| together(a, 2, 2), combine::except),
    Function::new("ARRAY_INTERSECT", "ARRAY_INTERSECT(array, array)", |a| together(a, 2, 2), combine::intersect),
    Function::new("ARRAY_APPEND", "ARRAY_APPEND(array, element)", extend, combine::append),
    Function::new("ARRAY_PREPEND", "ARRAY_PREPEND(array, element)", extend, combine::prepend),
    // Maps.
    Function::new("MAP_KEYS", "MAP_KEYS(map)", |a| of_map(a, |k, _| k), map::keys),
    Function::new("MAP_VALUES", "MAP_VALUES(map)", |a| of_map(a, |_, v| v), map::values),
    Function::new("MAP_ENTRIES", "MAP_ENTRIES(map)", |a| of_map(a, entry), map::entries),
    Function::new("MAP_FROM_ARRAYS", "MAP_FROM_ARRAYS(keys, values)", from_arrays, map::from_arrays),
    Function::new("MAP_UNION", "MAP_UNION(map, ...)", map_union, map::union),
];

fn cardinality(args: &[Arg<'_>]) -> Result<Signature, String> {
    count(args, 1, 1)?;
    let ty = args[0].ty();
    match ty.kind {
        TypeKind::Array(_) | TypeKind::Map(..) | TypeKind::Multiset(_) => {
            Ok(Signature { args: vec![ty.clone()], result: TypeKind::Int.with_nullable(ty.nullable) })
        }
        _ => Err(format!("argument 1 must be an ARRAY, a MAP or a MULTISET, got {}", ty.kind)),
    }
}

/// The types of the arguments, the array first, and the type of its elements.
fn array_args(args: &[Arg<'_>], required: &[Param], optional: &[Param]) -> Result<(Vec<LogicalType>, LogicalType), String> {
    count(args, 1 + required.len(), 1 + required.len() + optional.len())?;
    let array = accept(0, &args[0], &Array)?;
    let element = match &array.kind {
        TypeKind::Array(element) => (**element).clone(),
        other => return Err(format!("argument 1 must be an ARRAY, got {other}")),
    };
    let mut types = vec![array];
    for (i, (arg, param)) in args[1..].iter().zip(required.iter().chain(optional)).enumerate() {
        types.push(accept(i + 1, arg, param)?);
    }
    Ok((types, element))
}

/// The result is an element, or NULL.
fn element_of(args: &[Arg<'_>], more: &[Param]) -> Result<(Signature, LogicalType), String> {
    let (types, element) = array_args(args, more, &[])?;
    Ok((Signature { args: types, result: element.clone().with_nullable(true) }, element))
}

/// The result has the array's type.
fn like_array(args: &[Arg<'_>], required: &[Param], optional: &[Param]) -> Result<Signature, String> {
    let (types, _) = array_args(args, required, optional)?;
    let nullable = any_nullable(&types);
    Ok(Signature { result: types[0].clone().with_nullable(nullable), args: types })
}

/// An array and what is to be compared with its elements.
fn with_element(args: &[Arg<'_>]) -> Result<(LogicalType, LogicalType), String> {
    count(args, 2, 2)?;
    let (mut types, element) = array_args(&args[..1], &[], &[])?;
    let (given, wanted) = (args[1].ty(), &element.kind);
    let ty = if given.kind.is_character() && wanted.is_character() {
        given.clone()
    } else if is_implicitly_castable(&given.kind, wanted) {
        wanted.clone().with_nullable(given.nullable)
    } else {
        return Err(format!("argument 2 must be {wanted}, as the elements are, got {}", given.kind));
    };
    Ok((types.remove(0), ty))
}

/// NULL may be an element: only a NULL array makes the result NULL.
fn contains(args: &[Arg<'_>]) -> Result<Signature, String> {
    let (array, element) = with_element(args)?;
    let result = TypeKind::Boolean.with_nullable(array.nullable);
    Ok(Signature { args: vec![array, element], result })
}

fn position(args: &[Arg<'_>]) -> Result<Signature, String> {
    let (array, element) = with_element(args)?;
    let result = TypeKind::Int.with_nullable(array.nullable || element.nullable);
    Ok(Signature { args: vec![array, element], result })
}

fn remove(args: &[Arg<'_>]) -> Result<Signature, String> {
    let (array, element) = with_element(args)?;
    Ok(Signature { result: array.clone(), args: vec![array, element] })
}

fn comparable(element: &LogicalType) -> Result<(), String> {
    match element.kind.is_nested() || element.kind == TypeKind::Boolean {
        true => Err(format!("elements of type {} have no order", element.kind)),
        false => Ok(()),
    }
}

fn extreme(args: &[Arg<'_>]) -> Result<Signature, String> {
    let (signature, element) = element_of(args, &[])?;
    comparable(&element)?;
    Ok(signature)
}

fn sort(args: &[Arg<'_>]) -> Result<Signature, String> {
    let (_, element) = array_args(args, &[], &[BOOLEAN, BOOLEAN])?;
    comparable(&element)?;
    like_array(args, &[], &[BOOLEAN, BOOLEAN])
}

fn join(args: &[Arg<'_>]) -> Result<Signature, String> {
    let (types, element) = array_args(args, &[Param::Text], &[Param::Text])?;
    if !element.kind.is_character() {
        return Err(format!("argument 1 must be an ARRAY of texts, got {}", types[0].kind));
    }
    let nullable = any_nullable(&types);
    Ok(Signature { args: types, result: TypeKind::STRING.with_nullable(nullable) })
}

/// Arrays, or maps, of one type that all can be cast to.
fn common(args: &[Arg<'_>], param: &Param) -> Result<LogicalType, String> {
    for (i, arg) in args.iter().enumerate() {
        accept(i, arg, param)?;
    }
    let types: Vec<LogicalType> = args.iter().map(|a| a.ty().clone()).collect();
    common_type(&types).ok_or_else(|| {
        let kinds: Vec<String> = types.iter().map(|t| t.kind.to_string()).collect();
        format!("the arguments have no common type: {}", kinds.join(", "))
    })
}

fn together(args: &[Arg<'_>], min: usize, max: usize) -> Result<Signature, String> {
    count(args, min, max)?;
    let common = common(args, &Array)?;
    Ok(Signature { args: vec![common.clone(); args.len()], result: common })
}

/// The elements' type takes in the new one's.
fn extend(args: &[Arg<'_>]) -> Result<Signature, String> {
    let (array, element) = with_element(args)?;
    let TypeKind::Array(old) = &array.kind else { return Err("argument 1 must be an ARRAY".into()) };
    let common = common_type(&[(**old).clone(), element]).ok_or("the element is not of the array's type")?;
    let array = TypeKind::Array(Box::new(common.clone())).with_nullable(array.nullable);
    Ok(Signature { args: vec![array.clone(), common], result: array })
}

/// The result is an array made of a map's keys and values.
fn of_map(args: &[Arg<'_>], element: fn(LogicalType, LogicalType) -> LogicalType) -> Result<Signature, String> {
    count(args, 1, 1)?;
    let map = accept(0, &args[0], &Map)?;
    let TypeKind::Map(key, value) = &map.kind else { return Err("argument 1 must be a MAP".into()) };
    let result = TypeKind::Array(Box::new(element((**key).clone(), (**value).clone()))).with_nullable(map.nullable);
    Ok(Signature { args: vec![map], result })
}

fn entry(key: LogicalType, value: LogicalType) -> LogicalType {
    TypeKind::Row(vec![Field::new("key", key), Field::new("value", value)]).not_null()
}

fn from_arrays(args: &[Arg<'_>]) -> Result<Signature, String> {
    count(args, 2, 2)?;
    let (keys, values) = (accept(0, &args[0], &Array)?, accept(1, &args[1], &Array)?);
    let (TypeKind::Array(key), TypeKind::Array(value)) = (&keys.kind, &values.kind) else {
        return Err("takes two ARRAYs".into());
    };
    let result = TypeKind::Map(key.clone(), value.clone()).with_nullable(keys.nullable || values.nullable);
    Ok(Signature { args: vec![keys, values], result })
}

fn map_union(args: &[Arg<'_>]) -> Result<Signature, String> {
    count(args, 1, usize::MAX)?;
    let common = common(args, &Map)?;
    Ok(Signature { args: vec![common.clone(); args.len()], result: common })
}
