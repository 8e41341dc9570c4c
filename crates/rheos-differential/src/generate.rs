//! Random queries whose meaning is the same in both dialects.

use std::cell::{Cell, RefCell};

use crate::dice::Dice;
use crate::query::{Body, Dialect, Expr, Group, Joined, Query, Relation, Select, Sets};
use crate::table::Table;
use crate::value::{TYPES, Type, Value};

/// Columns that an expression can name.
type Scope = Vec<(String, Type)>;

/// A column of one scope, and one of another.
type Pair<'s> = (&'s (String, Type), &'s (String, Type));

/// How an expression of one class is made of others: its text, and the classes of its arguments.
type Form = (&'static str, &'static [Type]);

const NUMBERS: [Form; 5] = [
    ("($0 + $1)", &[Type::BigInt, Type::BigInt]),
    ("($0 - $1)", &[Type::BigInt, Type::BigInt]),
    ("($0 * 2)", &[Type::BigInt]),
    ("(- $0)", &[Type::BigInt]),
    ("CHAR_LENGTH($0)", &[Type::Text]),
];
const TEXTS: [Form; 6] = [
    ("UPPER($0)", &[Type::Text]),
    ("LOWER($0)", &[Type::Text]),
    ("($0 || $1)", &[Type::Text, Type::Text]),
    ("SUBSTRING($0 FROM 2)", &[Type::Text]),
    ("TRIM($0)", &[Type::Text]),
    ("CAST($0 AS VARCHAR)", &[Type::BigInt]),
];
const DOUBLES: [Form; 3] =
    [("($0 + $1)", &[Type::Double, Type::Double]), ("($0 - $1)", &[Type::Double, Type::Double]), ("CAST($0 AS DOUBLE)", &[Type::BigInt])];
const DECIMALS: [Form; 2] = [("($0 + $1)", &[Type::Decimal, Type::Decimal]), ("($0 - $1)", &[Type::Decimal, Type::Decimal])];
const CONDITIONS: [Form; 5] = [
    ("($0 AND $1)", &[Type::Bool, Type::Bool]),
    ("($0 OR $1)", &[Type::Bool, Type::Bool]),
    ("(NOT $0)", &[Type::Bool]),
    ("($0 IS TRUE)", &[Type::Bool]),
    ("($0 LIKE '%a%')", &[Type::Text]),
];

/// Makes queries over some tables.
pub struct Generator<'a> {
    dice: &'a Dice,
    tables: &'a [Table],
    /// The WITH queries in sight, with their columns.
    named: RefCell<Vec<(String, Vec<Type>)>>,
    aliases: Cell<usize>,
    /// What the query has of what can be had.
    pub shapes: RefCell<Vec<&'static str>>,
}

impl<'a> Generator<'a> {
    /// Over these tables.
    pub fn new(dice: &'a Dice, tables: &'a [Table]) -> Self {
        Generator { dice, tables, named: RefCell::default(), aliases: Cell::new(0), shapes: RefCell::default() }
    }

    fn note(&self, shape: &'static str) {
        self.shapes.borrow_mut().push(shape);
    }

    /// A query.
    pub fn query(&self) -> Query {
        let mut with = Vec::new();
        if self.dice.chance(15) {
            self.note("WITH");
            let body = self.body(1);
            let types = types(&body);
            self.named.borrow_mut().push(("w0".into(), types));
            with.push(("w0".to_string(), Query::of(body)));
        }
        Query { with, body: self.body(2) }
    }

    fn body(&self, depth: usize) -> Body {
        match self.dice.below(100) {
            0..=13 if depth > 0 => self.set(depth),
            14..=25 if depth > 0 => self.top(depth),
            _ => Body::Select(self.select(depth, None)),
        }
    }

    fn set(&self, depth: usize) -> Body {
        let (operator, shape) = *self.dice.pick(&[("UNION", "UNION"), ("INTERSECT", "INTERSECT"), ("EXCEPT", "EXCEPT")]);
        self.note(shape);
        let left = self.select(depth - 1, None);
        let wanted: Vec<Type> = left.items.iter().map(Expr::ty).collect();
        let mut right = self.select(depth - 1, Some(&wanted));
        if operator != "UNION" && self.dice.chance(70) {
            // Two queries that have little to do with each other have no row in common.
            let filter = right.filter;
            right = left.clone();
            right.filter = if filter.is_empty() || self.dice.chance(40) { right.filter } else { vec![Expr::leaf(Type::Bool, "TRUE")] };
        }
        let (left, right) = (Box::new(Body::Select(left)), Box::new(Body::Select(right)));
        Body::Set { operator, all: self.dice.chance(50), left, right }
    }

    fn top(&self, depth: usize) -> Body {
        self.note("Top-N");
        let input = Query::of(Body::Select(self.select(depth - 1, None)));
        let width = input.body.width();
        let descending = (0..width).map(|_| self.dice.chance(40)).collect();
        let partition = if self.dice.chance(70) { 1 } else { 0 };
        Body::Top { input: Box::new(input), partition, descending, rows: 1 + self.dice.below(3), ranks: self.dice.chance(40) }
    }

    /// A SELECT; `wanted` says of which classes its columns are to be.
    fn select(&self, depth: usize, wanted: Option<&[Type]>) -> Select {
        let (from, scope) = self.from(depth);
        let mut filter: Vec<Expr> = Vec::new();
        if self.dice.chance(35) {
            self.note("WHERE");
            filter.push(self.condition(&scope, 2));
        }
        if depth > 0 && self.dice.chance(18) {
            filter.extend(self.subquery(&scope, depth));
        }
        let group = self.dice.chance(40);
        let distinct = !group && self.dice.chance(15);
        if distinct {
            self.note("DISTINCT");
        }
        let classes: Vec<Type> = match wanted {
            Some(wanted) => wanted.to_vec(),
            None => (0..1 + self.dice.below(3)).map(|_| self.class(&scope)).collect(),
        };
        if !group {
            let items = classes.iter().map(|class| self.expr(*class, &scope, 2)).collect();
            return Select { distinct, items, from, filter, group: None };
        }
        self.grouped(from, scope, filter, &classes)
    }

    fn grouped(&self, from: Vec<Joined>, scope: Scope, filter: Vec<Expr>, classes: &[Type]) -> Select {
        self.note("GROUP BY");
        // DataFusion takes a constant of a subquery for one that GROUPING SETS never make NULL.
        let is_of_tables = from.iter().all(|joined| matches!(&joined.relation, Relation::Named(name) if !name.starts_with('w')));
        let sets = match self.dice.below(10) {
            _ if !is_of_tables => Sets::Plain,
            0 => Sets::Rollup,
            1 => Sets::Cube,
            2 => Sets::Lists(vec![vec![0], vec![1], vec![]]),
            _ => Sets::Plain,
        };
        let count = if matches!(sets, Sets::Plain) { *self.dice.pick(&[0, 1, 1, 1, 2]) } else { 2 };
        let is_plain = matches!(sets, Sets::Plain) || scope.len() < 2;
        let keys: Vec<Expr> = if is_plain {
            let keys = (0..count).map(|_| match self.dice.chance(75) {
                true => self.column(&scope),
                false => self.expr_over_column(&scope),
            });
            keys.collect()
        } else {
            self.note("GROUPING SETS");
            let columns = self.dice.shuffle(scope.clone());
            columns.into_iter().take(2).map(|(name, ty)| Expr::leaf(ty, name)).collect()
        };
        let item = |class: &Type| -> Expr {
            match keys.iter().find(|key| key.ty() == *class && self.dice.chance(60)) {
                Some(key) => key.clone(),
                None => self.aggregate(*class, &scope),
            }
        };
        let items = classes.iter().map(item).collect();
        let mut having = Vec::new();
        if self.dice.chance(20) {
            self.note("HAVING");
            let count = self.aggregate(Type::BigInt, &scope);
            let text = *self.dice.pick(&["($0 > 0)", "($0 < 5)", "($0 <> 1)", "($0 IS NOT NULL)"]);
            having.push(Expr::node(Type::Bool, text, vec![count]));
        }
        let sets = if is_plain { Sets::Plain } else { sets };
        Select { distinct: false, items, from, filter, group: Some(Group { keys, sets, having }) }
    }

    /// An aggregate of a class; what no aggregate gives is the least or greatest of the values.
    fn aggregate(&self, class: Type, scope: &Scope) -> Expr {
        let (text, arg) = match class {
            Type::BigInt => match self.dice.below(6) {
                0 => ("COUNT(*)", None),
                1 => ("COUNT($0)", Some(self.dice.pick(&TYPES).class())),
                2 => ("COUNT(DISTINCT $0)", Some(self.dice.pick(&TYPES).class())),
                3 => ("SUM($0)", Some(Type::BigInt)),
                4 => ("MIN($0)", Some(Type::BigInt)),
                _ => ("MAX($0)", Some(Type::BigInt)),
            },
            Type::Double => (*self.dice.pick(&["SUM($0)", "AVG($0)", "MIN($0)", "MAX($0)"]), Some(Type::Double)),
            Type::Decimal => (*self.dice.pick(&["SUM($0)", "MIN($0)", "MAX($0)"]), Some(Type::Decimal)),
            Type::Bool => ("(COUNT($0) > 1)", Some(Type::BigInt)),
            class => (*self.dice.pick(&["MIN($0)", "MAX($0)"]), Some(class)),
        };
        let mut args: Vec<Expr> = arg.map(|class| self.expr(class, scope, 1)).into_iter().collect();
        let mut text = text.to_string();
        if self.dice.chance(20) && !text.contains("DISTINCT") && class != Type::Bool {
            self.note("FILTER");
            text = format!("{text} FILTER (WHERE ${})", args.len());
            args.push(self.condition(scope, 1));
        }
        Expr::node(class, text, args)
    }

    fn from(&self, depth: usize) -> (Vec<Joined>, Scope) {
        let (first, mut scope) = self.relation(depth);
        let mut from = vec![first];
        for _ in 0..*self.dice.pick(&[0, 0, 0, 0, 1, 1, 1, 2]) {
            let (mut joined, columns) = self.relation(depth);
            let pairs: Vec<Pair<'_>> =
                scope.iter().flat_map(|l| columns.iter().map(move |r| (l, r))).filter(|(l, r)| l.1 == r.1 && l.1 != Type::Bool).collect();
            (joined.kind, joined.on) = match pairs.is_empty() {
                true => ("INNER", vec![]),
                false => {
                    let ((left, ty), (right, _)) = **self.dice.pick(&pairs.iter().collect::<Vec<_>>());
                    let equal = Expr::node(Type::Bool, "$0 = $1", vec![Expr::leaf(*ty, left), Expr::leaf(*ty, right)]);
                    (*self.dice.pick(&["INNER", "INNER", "LEFT", "LEFT", "RIGHT", "FULL"]), vec![equal])
                }
            };
            self.note(match joined.kind {
                "INNER" => "INNER JOIN",
                "LEFT" => "LEFT JOIN",
                "RIGHT" => "RIGHT JOIN",
                _ => "FULL JOIN",
            });
            scope.extend(columns);
            if self.dice.chance(25) {
                joined.on.push(self.condition(&scope, 1));
            }
            from.push(joined);
        }
        (from, scope)
    }

    fn relation(&self, depth: usize) -> (Joined, Scope) {
        let alias = format!("t{}", self.aliases.replace(self.aliases.get() + 1));
        let named = self.named.borrow().clone();
        let (relation, columns): (Relation, Vec<(String, Type)>) = match self.dice.below(100) {
            0..=40 if !named.is_empty() => {
                let (name, types) = self.dice.pick(&named);
                (Relation::Named(name.clone()), numbered(types))
            }
            41..=60 if depth > 0 => {
                self.note("subquery in FROM");
                let body = self.body(depth - 1);
                let columns = numbered(&types(&body));
                (Relation::Query(Box::new(Query::of(body))), columns)
            }
            _ => {
                let table = self.dice.pick(self.tables);
                (Relation::Named(table.name.clone()), table.columns.iter().map(|c| (c.name.clone(), c.ty.class())).collect())
            }
        };
        let scope = columns.into_iter().map(|(name, ty)| (format!("{alias}.{name}"), ty)).collect();
        (Joined { kind: "", relation, alias, on: vec![] }, scope)
    }

    /// A condition on another table: EXISTS, IN, or a comparison with one value of it.
    fn subquery(&self, scope: &Scope, depth: usize) -> Option<Expr> {
        let (mut from, inner) = self.relation(depth - 1);
        from.kind = "";
        let mut filter = Vec::new();
        if self.dice.chance(50) {
            filter.push(self.condition(&inner, 1));
        }
        // DataFusion takes a column of the enclosing query for others of that name (cases/837.case).
        let bare = |name: &str| name.rsplit('.').next().unwrap_or_default().to_string();
        let is_single = |name: &str| scope.iter().filter(|(other, _)| bare(other) == bare(name)).count() == 1;
        let pairs: Vec<Pair<'_>> =
            scope.iter().flat_map(|o| inner.iter().map(move |i| (o, i))).filter(|(o, i)| o.1 == i.1 && is_single(&o.0)).collect();
        let correlated = !pairs.is_empty() && self.dice.chance(60);
        if correlated {
            let ((outer, ty), (own, _)) = **self.dice.pick(&pairs.iter().collect::<Vec<_>>());
            filter.push(Expr::node(Type::Bool, "$0 = $1", vec![Expr::leaf(*ty, own), Expr::leaf(*ty, outer)]));
        }
        let select = |items: Vec<Expr>, group: Option<Group>| {
            Box::new(Query::of(Body::Select(Select { distinct: false, items, from: vec![from], filter, group })))
        };
        let negated = self.dice.chance(40);
        // DataFusion has no NOT IN of a correlated query.
        let kinds: &[usize] = if correlated && negated { &[0, 2] } else { &[0, 1, 2] };
        match *self.dice.pick(kinds) {
            0 => {
                self.note(if negated { "NOT EXISTS" } else { "EXISTS" });
                Some(Expr::Exists(negated, select(vec![Expr::leaf(Type::BigInt, "1")], None)))
            }
            1 => {
                self.note(if negated { "NOT IN" } else { "IN" });
                let column = self.column(&inner);
                let value = self.expr(column.ty(), scope, 1);
                Some(Expr::In(negated, Box::new(value), select(vec![column], None)))
            }
            _ => {
                self.note("scalar subquery");
                let aggregate = self.aggregate(Type::BigInt, &inner);
                let group = Some(Group { keys: vec![], sets: Sets::Plain, having: vec![] });
                let scalar = Expr::Scalar(Type::BigInt, select(vec![aggregate], group));
                let text = *self.dice.pick(&["($0 <= $1)", "($0 >= $1)", "($0 <> $1)"]);
                Some(Expr::node(Type::Bool, text, vec![self.expr(Type::BigInt, scope, 1), scalar]))
            }
        }
    }

    /// The class of an expression: mostly one of which there is a column.
    fn class(&self, scope: &Scope) -> Type {
        if self.dice.chance(80) { self.dice.pick(scope).1 } else { self.dice.pick(&TYPES).class() }
    }

    /// Something to compare an expression with: not itself.
    fn other_than(&self, expr: &Expr, scope: &Scope, depth: usize) -> Expr {
        let other = self.expr(expr.ty(), scope, depth);
        if other.sql(Dialect::Rheos) == expr.sql(Dialect::Rheos) { self.literal(expr.ty()) } else { other }
    }

    fn column(&self, scope: &Scope) -> Expr {
        let (name, ty) = self.dice.pick(scope);
        Expr::leaf(*ty, name)
    }

    /// An expression that has a column in it, whatever else.
    fn expr_over_column(&self, scope: &Scope) -> Expr {
        let column = self.column(scope);
        match column.ty() {
            Type::BigInt => Expr::node(Type::BigInt, "($0 % 2)", vec![column]),
            Type::Text => Expr::node(Type::Text, "UPPER($0)", vec![column]),
            ty => Expr::node(ty, "COALESCE($0, $1)", vec![column, self.literal(ty)]),
        }
    }

    fn literal(&self, ty: Type) -> Expr {
        Expr::leaf(ty, ty.value(self.dice).to_string())
    }

    /// An expression of a class: often a column of it.
    fn expr(&self, ty: Type, scope: &Scope, depth: usize) -> Expr {
        let columns: Vec<&(String, Type)> = scope.iter().filter(|c| c.1 == ty).collect();
        if !columns.is_empty() && (depth == 0 || self.dice.chance(60)) {
            return Expr::leaf(ty, &self.dice.pick(&columns).0);
        }
        if depth == 0 {
            return match self.dice.chance(6) {
                true => Expr::leaf(ty, format!("CAST({} AS {})", Value::Null, ty.sql())),
                false => self.literal(ty),
            };
        }
        let arg = |ty: Type| self.expr(ty, scope, depth - 1);
        match self.dice.below(10) {
            0 => Expr::node(ty, "CASE WHEN $0 THEN $1 ELSE $2 END", vec![self.condition(scope, depth - 1), arg(ty), arg(ty)]),
            1 => Expr::node(ty, "COALESCE($0, $1)", vec![arg(ty), arg(ty)]),
            2 => Expr::node(ty, "NULLIF($0, $1)", vec![arg(ty), arg(ty)]),
            3 => arg(ty),
            _ => {
                let forms: &[Form] = match ty {
                    Type::Int | Type::BigInt => &NUMBERS,
                    Type::Text => &TEXTS,
                    Type::Double => &DOUBLES,
                    Type::Decimal => &DECIMALS,
                    Type::Bool => return self.condition(scope, depth),
                    Type::Date | Type::Timestamp => return arg(ty),
                };
                let (text, args) = *self.dice.pick(forms);
                Expr::node(ty, text, args.iter().map(|ty| arg(*ty)).collect())
            }
        }
    }

    /// A condition; comparisons that many rows fit are more frequent.
    fn condition(&self, scope: &Scope, depth: usize) -> Expr {
        let arg = |ty: Type, depth: usize| self.expr(ty, scope, depth);
        if depth > 1 && self.dice.chance(30) {
            let (text, args) = *self.dice.pick(&CONDITIONS);
            let args = args.iter().map(|ty| if *ty == Type::Bool { self.condition(scope, depth - 1) } else { arg(*ty, depth - 1) });
            return Expr::node(Type::Bool, text, args.collect());
        }
        let column = self.column(scope);
        let ty = column.ty();
        let depth = depth.saturating_sub(1);
        match self.dice.below(10) {
            0 => Expr::node(Type::Bool, "($0 IS NOT NULL)", vec![column]),
            1 => Expr::node(Type::Bool, "($0 IS NULL)", vec![arg(ty, depth)]),
            2 if ty != Type::Bool => {
                let text = *self.dice.pick(&["($0 IN ($1, $2, $3))", "($0 NOT IN ($1, $2, $3))"]);
                Expr::node(Type::Bool, text, vec![column, self.literal(ty), self.literal(ty), self.literal(ty)])
            }
            3 if ty != Type::Bool => {
                let upper = self.other_than(&column, scope, depth);
                Expr::node(Type::Bool, "($0 BETWEEN $1 AND $2)", vec![column, self.literal(ty), upper])
            }
            4 => {
                // DataFusion joins by it as by '='.
                let text = "($0 IS NOT DISTINCT FROM $1)".to_string();
                let other = Some("COALESCE($0 = $1, ($0 IS NULL) AND ($1 IS NULL))".to_string());
                Expr::Node { ty: Type::Bool, text, other, args: vec![column.clone(), self.other_than(&column, scope, depth)] }
            }
            _ => {
                let text = *self.dice.pick(&["($0 <> $1)", "($0 <> $1)", "($0 <= $1)", "($0 >= $1)", "($0 = $1)", "($0 < $1)"]);
                let other = self.other_than(&column, scope, depth);
                Expr::node(Type::Bool, text, vec![column, other])
            }
        }
    }
}

/// The classes of a query's columns.
fn types(body: &Body) -> Vec<Type> {
    match body {
        Body::Select(select) => select.items.iter().map(Expr::ty).collect(),
        Body::Set { left, .. } => types(left),
        Body::Top { input, ranks, .. } => types(&input.body).into_iter().chain(ranks.then_some(Type::BigInt)).collect(),
    }
}

fn numbered(types: &[Type]) -> Vec<(String, Type)> {
    types.iter().enumerate().map(|(i, ty)| (format!("x{i}"), *ty)).collect()
}
