//! Which types go together: implicit casts, and the type that several values have in common.

use rheos_core::schema::Field;
use rheos_core::types::{LogicalType, MAX_DECIMAL_PRECISION, MAX_LENGTH, TypeKind};

/// Whether two kinds are the same, whatever the nullability of their parts: such values need no conversion.
pub fn same_kind(a: &TypeKind, b: &TypeKind) -> bool {
    match (a, b) {
        (TypeKind::Array(a), TypeKind::Array(b)) | (TypeKind::Multiset(a), TypeKind::Multiset(b)) => same_kind(&a.kind, &b.kind),
        (TypeKind::Map(ak, av), TypeKind::Map(bk, bv)) => same_kind(&ak.kind, &bk.kind) && same_kind(&av.kind, &bv.kind),
        (TypeKind::Row(a), TypeKind::Row(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.name == b.name && same_kind(&a.ty.kind, &b.ty.kind))
        }
        _ => a == b,
    }
}

/// Whether a value of one kind may stand where the other is asked for: nothing of it is lost, as Flink sees it.
pub fn is_implicitly_castable(from: &TypeKind, to: &TypeKind) -> bool {
    use TypeKind as K;
    match (from, to) {
        _ if same_kind(from, to) => true,
        (K::Null, _) => true,
        (K::Char(a) | K::Varchar(a), K::Varchar(b)) | (K::Char(a), K::Char(b)) => a <= b,
        (K::Binary(a) | K::Varbinary(a), K::Varbinary(b)) | (K::Binary(a), K::Binary(b)) => a <= b,
        (_, K::Float) => from.is_exact_numeric(),
        (_, K::Double) => from.is_numeric(),
        (_, K::Decimal(..)) => from.is_exact_numeric(),
        (_, K::TinyInt | K::SmallInt | K::Int | K::BigInt) => from.is_integer() && from.as_decimal() <= to.as_decimal(),
        (K::Date, K::Timestamp(_) | K::TimestampLtz(_)) => true,
        (K::Timestamp(_) | K::TimestampLtz(_), K::Timestamp(_) | K::TimestampLtz(_)) | (K::Time(_), K::Time(_)) => true,
        (K::Array(a), K::Array(b)) | (K::Multiset(a), K::Multiset(b)) => is_implicitly_castable(&a.kind, &b.kind),
        (K::Map(ak, av), K::Map(bk, bv)) => is_implicitly_castable(&ak.kind, &bk.kind) && is_implicitly_castable(&av.kind, &bv.kind),
        (K::Row(a), K::Row(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_implicitly_castable(&a.ty.kind, &b.ty.kind)),
        _ => false,
    }
}

/// The least type that all values fit, as CASE, COALESCE, UNION and constructors need it; `None` if there is none.
pub fn common_type(types: &[LogicalType]) -> Option<LogicalType> {
    let (first, rest) = types.split_first()?;
    rest.iter().try_fold(first.clone(), |common, ty| common_of_two(&common, ty))
}

fn common_of_two(a: &LogicalType, b: &LogicalType) -> Option<LogicalType> {
    Some(common_kind(&a.kind, &b.kind)?.with_nullable(a.nullable || b.nullable))
}

fn common_kind(a: &TypeKind, b: &TypeKind) -> Option<TypeKind> {
    use TypeKind as K;
    Some(match (a, b) {
        (K::Null, other) | (other, K::Null) => other.clone(),
        (K::Char(n), K::Char(m)) if n == m => K::Char(*n),
        (K::Char(n) | K::Varchar(n), K::Char(m) | K::Varchar(m)) => K::Varchar((*n).max(*m)),
        (K::Binary(n), K::Binary(m)) if n == m => K::Binary(*n),
        (K::Binary(n) | K::Varbinary(n), K::Binary(m) | K::Varbinary(m)) => K::Varbinary((*n).max(*m)),
        (x, y) if x.is_numeric() && y.is_numeric() => common_number(x, y)?,
        (K::Time(p), K::Time(q)) => K::Time((*p).max(*q)),
        (K::Timestamp(p), K::Timestamp(q)) => K::Timestamp((*p).max(*q)),
        (K::Timestamp(p) | K::TimestampLtz(p), K::Timestamp(q) | K::TimestampLtz(q)) => K::TimestampLtz((*p).max(*q)),
        (K::Date, timestamp) | (timestamp, K::Date) if timestamp.is_timestamp() => timestamp.clone(),
        (K::Array(x), K::Array(y)) => K::Array(Box::new(common_of_two(x, y)?)),
        (K::Multiset(x), K::Multiset(y)) => K::Multiset(Box::new(common_of_two(x, y)?)),
        (K::Map(xk, xv), K::Map(yk, yv)) => K::Map(Box::new(common_of_two(xk, yk)?), Box::new(common_of_two(xv, yv)?)),
        (K::Row(x), K::Row(y)) if x.len() == y.len() => {
            let fields = x.iter().zip(y).map(|(x, y)| Some(Field::new(x.name.clone(), common_of_two(&x.ty, &y.ty)?)));
            K::Row(fields.collect::<Option<Vec<_>>>()?)
        }
        (x, y) if x == y => x.clone(),
        _ => return None,
    })
}

/// DECIMAL with FLOAT or DOUBLE is DOUBLE, an integer with FLOAT is FLOAT, decimals keep the digits on both sides of the point.
fn common_number(a: &TypeKind, b: &TypeKind) -> Option<TypeKind> {
    use TypeKind as K;
    if a.is_approximate() || b.is_approximate() {
        let double = matches!((a, b), (K::Double | K::Decimal(..), _) | (_, K::Double | K::Decimal(..)));
        return Some(if double { K::Double } else { K::Float });
    }
    if a.is_integer() && b.is_integer() {
        return Some(if a.as_decimal() >= b.as_decimal() { a.clone() } else { b.clone() });
    }
    let ((p, s), (q, t)) = (a.as_decimal()?, b.as_decimal()?);
    let whole = (p.saturating_sub(s)).max(q.saturating_sub(t)).min(MAX_DECIMAL_PRECISION);
    let scale = s.max(t).min(MAX_DECIMAL_PRECISION - whole);
    Some(K::Decimal(whole + scale, scale))
}

/// The length of two texts put together.
pub(crate) fn added_length(a: u32, b: u32) -> u32 {
    a.saturating_add(b).min(MAX_LENGTH)
}
