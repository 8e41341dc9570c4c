//! The smallest case that still differs: rows, tables and parts of the query go for as long as the difference stays
//! (delta debugging, after Zeller and Hildebrandt 2002, by single steps).

use crate::case::Case;
use crate::query::{Body, Expr, Group, Query, Relation, Select, Sets};
use crate::table::Mode;
use crate::value::{Type, Value};

/// How many cases are tried at most.
const MAX_TRIES: usize = 4_000;

/// Makes a case smaller while `differs` holds.
pub fn minimise(case: Case, differs: impl Fn(&Case) -> bool) -> Case {
    let mut smallest = case;
    let mut tries = 0;
    'smaller: loop {
        for candidate in candidates(&smallest) {
            tries += 1;
            if tries > MAX_TRIES {
                return smallest;
            }
            if differs(&candidate) {
                smallest = candidate;
                continue 'smaller;
            }
        }
        return smallest;
    }
}

/// Cases that are a step smaller, the greatest steps first.
fn candidates(case: &Case) -> Vec<Case> {
    let mut all = Vec::new();
    let query = |query: Query| Case { query, ..case.clone() };
    all.extend(simpler_query(&case.query).into_iter().map(query));
    if case.parallelism > 1 {
        all.push(Case { parallelism: 1, ..case.clone() });
    }
    for (t, table) in case.tables.iter().enumerate() {
        let mut with = |change: &dyn Fn(&mut crate::table::Table)| {
            let mut smaller = case.clone();
            change(&mut smaller.tables[t]);
            all.push(smaller);
        };
        let rows = table.lives.len();
        for half in [rows / 2, rows / 4].into_iter().filter(|half| *half > 1) {
            for start in (0..rows).step_by(half) {
                with(&|table| drop(table.lives.drain(start..(start + half).min(rows))));
            }
        }
        (0..rows).for_each(|row| with(&|table| drop(table.lives.remove(row))));
        for (row, life) in table.lives.iter().enumerate() {
            if life.ends {
                with(&|table| table.lives[row].ends = false);
            }
            if life.rows.len() > 1 {
                with(&|table| drop(table.lives[row].rows.remove(0)));
            }
            for (version, values) in life.rows.iter().enumerate() {
                for (column, value) in values.iter().enumerate() {
                    if table.columns[column].nullable && *value != Value::Null {
                        with(&|table| table.lives[row].rows[version][column] = Value::Null);
                    }
                }
            }
        }
        if table.mode != Mode::Inserts && table.lives.iter().all(|life| !life.ends && life.rows.len() == 1) {
            with(&|table| table.mode = Mode::Inserts);
        }
        if !case.query.sql(crate::query::Dialect::Rheos).contains(&format!("{} AS ", table.name)) && case.tables.len() > 1 {
            let mut smaller = case.clone();
            smaller.tables.remove(t);
            all.push(smaller);
        }
    }
    all
}

fn simpler_query(query: &Query) -> Vec<Query> {
    let mut all = Vec::new();
    if !query.with.is_empty() {
        all.push(Query::of(query.body.clone()));
        all.extend(query.with.iter().map(|(_, named)| named.clone()));
        for (i, (name, named)) in query.with.iter().enumerate() {
            all.extend(simpler_query(named).into_iter().map(|simpler| {
                let mut with = query.with.clone();
                with[i] = (name.clone(), simpler);
                Query { with, body: query.body.clone() }
            }));
        }
    }
    all.extend(simpler_body(&query.body).into_iter().map(|body| Query { with: query.with.clone(), body }));
    all
}

fn simpler_body(body: &Body) -> Vec<Body> {
    match body {
        Body::Select(select) => {
            // A relation in FROM that is a query can be all of it.
            let inner = select.from.iter().filter_map(|joined| match &joined.relation {
                Relation::Query(query) if query.with.is_empty() => Some(query.body.clone()),
                _ => None,
            });
            inner.chain(simpler_select(select).into_iter().map(Body::Select)).collect()
        }
        Body::Set { operator, all, left, right } => {
            let mut simpler = vec![(**left).clone(), (**right).clone()];
            let with = |left: Body, right: Body| Body::Set { operator, all: *all, left: Box::new(left), right: Box::new(right) };
            // The same column goes on both sides.
            if let (Body::Select(l), Body::Select(r)) = (&**left, &**right) {
                for i in (0..l.items.len()).filter(|_| l.items.len() > 1) {
                    let (mut l, mut r) = (l.clone(), r.clone());
                    l.items.remove(i);
                    r.items.remove(i);
                    simpler.push(with(Body::Select(l), Body::Select(r)));
                }
            }
            let width = left.width();
            simpler.extend(simpler_body(left).into_iter().filter(|l| l.width() == width).map(|l| with(l, (**right).clone())));
            simpler.extend(simpler_body(right).into_iter().filter(|r| r.width() == width).map(|r| with((**left).clone(), r)));
            simpler
        }
        Body::Top { input, partition, descending, rows, ranks } => {
            let mut simpler = vec![input.body.clone()];
            let of = |input: Query, ranks: bool, partition: usize| {
                let descending = descending[..input.body.width().min(descending.len())].to_vec();
                Body::Top { input: Box::new(input), partition, descending, rows: *rows, ranks }
            };
            if *ranks {
                simpler.push(of((**input).clone(), false, *partition));
            }
            if *partition > 0 {
                simpler.push(of((**input).clone(), *ranks, 0));
            }
            simpler.extend(simpler_query(input).into_iter().map(|input| of(input, *ranks, *partition)));
            simpler
        }
    }
}

fn simpler_select(select: &Select) -> Vec<Select> {
    let mut all = Vec::new();
    let mut with = |change: &dyn Fn(&mut Select)| {
        let mut simpler = select.clone();
        change(&mut simpler);
        all.push(simpler);
    };
    if select.distinct {
        with(&|s| s.distinct = false);
    }
    if select.items.len() > 1 {
        (0..select.items.len()).for_each(|i| with(&|s| drop(s.items.remove(i))));
    }
    (0..select.filter.len()).for_each(|i| with(&|s| drop(s.filter.remove(i))));
    // What names a relation that is gone makes a query that is refused, and so no candidate.
    (0..select.from.len()).filter(|_| select.from.len() > 1).for_each(|i| with(&|s| drop(s.from.remove(i))));
    for (i, joined) in select.from.iter().enumerate() {
        (0..joined.on.len()).for_each(|c| with(&|s| drop(s.from[i].on.remove(c))));
        if i > 0 && joined.kind != "INNER" {
            with(&|s| s.from[i].kind = "INNER");
        }
        if let Relation::Query(query) = &joined.relation {
            for simpler in simpler_query(query) {
                with(&|s| s.from[i].relation = Relation::Query(Box::new(simpler.clone())));
            }
        }
        for (c, on) in joined.on.iter().enumerate() {
            simpler_expr(on).into_iter().for_each(|simpler| with(&|s| s.from[i].on[c] = simpler.clone()));
        }
    }
    if let Some(Group { keys, sets, having }) = &select.group {
        if !matches!(sets, Sets::Plain) {
            with(&|s| s.group.iter_mut().for_each(|group| group.sets = Sets::Plain));
        } else {
            (0..keys.len()).for_each(|i| with(&|s| s.group.iter_mut().for_each(|group| drop(group.keys.remove(i)))));
        }
        (0..having.len()).for_each(|i| with(&|s| s.group.iter_mut().for_each(|group| drop(group.having.remove(i)))));
    }
    for (i, item) in select.items.iter().enumerate() {
        simpler_expr(item).into_iter().for_each(|simpler| with(&|s| s.items[i] = simpler.clone()));
    }
    for (i, condition) in select.filter.iter().enumerate() {
        simpler_expr(condition).into_iter().for_each(|simpler| with(&|s| s.filter[i] = simpler.clone()));
    }
    all
}

fn simpler_expr(expr: &Expr) -> Vec<Expr> {
    let mut all = Vec::new();
    match expr {
        Expr::Node { ty, text, other, args } => {
            all.extend(args.iter().filter(|arg| arg.ty() == *ty).cloned());
            for (i, arg) in args.iter().enumerate() {
                for simpler in simpler_expr(arg) {
                    let mut args = args.clone();
                    args[i] = simpler;
                    all.push(Expr::Node { ty: *ty, text: text.clone(), other: other.clone(), args });
                }
            }
            if *ty == Type::Bool && !args.is_empty() {
                all.push(Expr::leaf(*ty, "TRUE"));
            }
        }
        Expr::Scalar(ty, query) => all.extend(simpler_query(query).into_iter().map(|q| Expr::Scalar(*ty, Box::new(q)))),
        Expr::Exists(negated, query) => all.extend(simpler_query(query).into_iter().map(|q| Expr::Exists(*negated, Box::new(q)))),
        Expr::In(negated, value, query) => {
            all.extend(simpler_query(query).into_iter().map(|q| Expr::In(*negated, value.clone(), Box::new(q))));
            all.extend(simpler_expr(value).into_iter().map(|v| Expr::In(*negated, Box::new(v), query.clone())));
        }
    }
    all
}
