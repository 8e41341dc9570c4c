//! Types as Java writes them: `DataTypes.ARRAY(DataTypes.INT().notNull())`.

use rheos_core::schema::Field;
use rheos_core::types::{LogicalType, TypeKind};
use serde_json::Value;

/// A type; `Err` says what it has that Rheos has no type for.
pub(crate) fn parse(java: &str) -> Result<LogicalType, String> {
    let mut reader = Reader { rest: java };
    let ty = reader.ty()?;
    if reader.rest.is_empty() { Ok(ty) } else { Err(format!("the type {java}")) }
}

/// The types of several expressions: `[STRING().notNull(), INT()]`, or of one.
pub(crate) fn parse_all(java: &str) -> Result<Vec<LogicalType>, String> {
    let Some(list) = java.strip_prefix('[').and_then(|j| j.strip_suffix(']')) else { return Ok(vec![parse(java)?]) };
    let mut reader = Reader { rest: list };
    let mut types = vec![reader.ty()?];
    while reader.take(", ") {
        types.push(reader.ty()?);
    }
    Ok(types)
}

/// The type of a value that has none declared: as of a literal.
pub(crate) fn of_value(value: &Value) -> Option<LogicalType> {
    Some(match value {
        Value::Bool(_) => TypeKind::Boolean.not_null(),
        Value::Number(n) if n.as_i64().is_some_and(|n| i32::try_from(n).is_ok()) => TypeKind::Int.not_null(),
        Value::String(text) => TypeKind::Char(text.chars().count() as u32).not_null(),
        _ => return None,
    })
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn take(&mut self, text: &str) -> bool {
        let left = self.rest.strip_prefix(text);
        self.rest = left.unwrap_or(self.rest);
        left.is_some()
    }

    fn need(&mut self, text: &str) -> Result<(), String> {
        if self.take(text) { Ok(()) } else { Err(format!("a type with '{text}' at '{}'", self.rest)) }
    }

    fn word(&mut self) -> &'a str {
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn ty(&mut self) -> Result<LogicalType, String> {
        self.take("DataTypes.");
        let name = self.word();
        self.need("(")?;
        let kind = match name {
            "of" => self.written()?,
            _ => self.kind(name)?,
        };
        self.need(")")?;
        let mut ty = kind.nullable();
        loop {
            if self.take(".notNull()") {
                ty.nullable = false;
            } else if self.take(".nullable()") {
                ty.nullable = true;
            } else {
                return Ok(ty);
            }
        }
    }

    fn kind(&mut self, name: &str) -> Result<TypeKind, String> {
        Ok(match name {
            "BOOLEAN" => TypeKind::Boolean,
            "TINYINT" => TypeKind::TinyInt,
            "SMALLINT" => TypeKind::SmallInt,
            "INT" => TypeKind::Int,
            "BIGINT" => TypeKind::BigInt,
            "FLOAT" => TypeKind::Float,
            "DOUBLE" => TypeKind::Double,
            "STRING" => TypeKind::STRING,
            "BYTES" => TypeKind::BYTES,
            "DATE" => TypeKind::Date,
            "CHAR" => TypeKind::Char(self.number(1)?),
            "VARCHAR" => TypeKind::Varchar(self.number(1)?),
            "BINARY" => TypeKind::Binary(self.number(1)?),
            "VARBINARY" => TypeKind::Varbinary(self.number(1)?),
            "TIME" => TypeKind::Time(self.number(0)? as u8),
            "TIMESTAMP" => TypeKind::Timestamp(self.number(6)? as u8),
            "TIMESTAMP_LTZ" | "TIMESTAMP_WITH_LOCAL_TIME_ZONE" => TypeKind::TimestampLtz(self.number(6)? as u8),
            "DECIMAL" => {
                let precision = self.number(10)? as u8;
                self.need(", ")?;
                TypeKind::Decimal(precision, self.number(0)? as u8)
            }
            "INTERVAL" => {
                self.take("DataTypes.");
                let unit = self.word();
                self.need("(")?;
                self.number(0)?;
                self.need(")")?;
                if matches!(unit, "YEAR" | "MONTH") { TypeKind::IntervalYearMonth } else { TypeKind::IntervalDayTime }
            }
            "ARRAY" => TypeKind::Array(Box::new(self.ty()?)),
            "MULTISET" => TypeKind::Multiset(Box::new(self.ty()?)),
            "MAP" => {
                let key = self.ty()?;
                self.need(", ")?;
                TypeKind::Map(Box::new(key), Box::new(self.ty()?))
            }
            "ROW" => TypeKind::Row(self.fields()?),
            other => return Err(format!("the type {other}")),
        })
    }

    fn number(&mut self, default: u32) -> Result<u32, String> {
        match self.word() {
            "" => Ok(default),
            digits => digits.parse().map_err(|_| format!("a type with the number '{digits}'")),
        }
    }

    fn fields(&mut self) -> Result<Vec<Field>, String> {
        let mut fields = Vec::new();
        while !self.rest.starts_with(')') {
            if !fields.is_empty() {
                self.need(", ")?;
            }
            self.take("DataTypes.");
            if self.take("FIELD(") {
                let (name, rest) = self.rest.split_once(", ").ok_or("a field without a type")?;
                self.rest = rest;
                fields.push(Field::new(name, self.ty()?));
                self.need(")")?;
            } else {
                fields.push(Field::new(format!("f{}", fields.len()), self.ty()?));
            }
        }
        Ok(fields)
    }

    /// A type of SQL within `of(...)`.
    fn written(&mut self) -> Result<TypeKind, String> {
        let mut depth = 0;
        let end = self.rest.find(|c: char| {
            depth += i32::from(c == '(' || c == '<') - i32::from(c == '>');
            let ends = c == ')' && depth == 0;
            depth -= i32::from(c == ')');
            ends
        });
        let (sql, rest) = self.rest.split_at(end.ok_or("a type that does not end")?);
        self.rest = rest;
        super::run::type_of(&format!("CAST(NULL AS {sql})")).map(|ty| ty.kind).ok_or_else(|| format!("the type {sql}"))
    }
}

#[test]
fn types_are_read_as_java_writes_them() {
    let types = [
        ("DataTypes.DECIMAL(19, 0).notNull()", "DECIMAL(19, 0) NOT NULL"),
        ("ARRAY(BIGINT().nullable()).notNull()", "ARRAY<BIGINT> NOT NULL"),
        ("DataTypes.MAP(DataTypes.STRING(), DataTypes.INT().notNull())", "MAP<STRING, INT NOT NULL>"),
        ("ROW(FIELD(a, INT()), FIELD(b, STRING()))", "ROW<`a` INT, `b` STRING>"),
        ("DataTypes.ROW(DataTypes.BOOLEAN(), DataTypes.DATE())", "ROW<`f0` BOOLEAN, `f1` DATE>"),
        ("DataTypes.INTERVAL(DataTypes.SECOND(3))", "INTERVAL DAY TO SECOND"),
        ("DataTypes.of(ROW<r ROW<i INT>, s CHAR(2)>)", "ROW<`r` ROW<`i` INT>, `s` CHAR(2)>"),
    ];
    for (java, sql) in types {
        assert_eq!(parse(java).map(|ty| ty.to_string()), Ok(sql.to_string()), "{java}");
    }
    assert!(parse("DataTypes.BITMAP()").is_err());
}
