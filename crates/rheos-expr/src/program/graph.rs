//! Expressions as a graph in which equal parts are one node, and the evaluation of its nodes.

use arrow::array::ArrayRef;
use hashbrown::HashMap;

use rheos_core::env::Env;
use rheos_core::error::{Error, Result};
use rheos_core::types::{LogicalType, TypeKind};

use super::branch;
use super::frame::Frame;
use super::literal::array_of;
use crate::expr::{EvalConfig, Expr, Literal};
use crate::function::{Call, Function, Prepared, Value};
use crate::functions;
use crate::functions::cast::{self, Conversion};

/// The place of a node in the graph: those that it needs come before it.
pub(super) type NodeId = usize;

pub(super) struct Node {
    pub(super) op: Op,
    /// Whether it and all that it needs cannot fail and cost next to nothing a row.
    pub(super) cheap: bool,
    ty: LogicalType,
}

pub(super) enum Op {
    Column(usize),
    Constant(ArrayRef),
    Call { function: &'static Function, prepared: Option<Prepared>, args: Vec<NodeId>, arg_types: Vec<LogicalType> },
    Cast { arg: NodeId, conversion: Conversion },
    And(Vec<NodeId>),
    Or(Vec<NodeId>),
    Case { branches: Vec<(NodeId, NodeId)>, otherwise: Option<NodeId> },
}

/// What makes two nodes equal.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Column(usize),
    Constant(Literal, LogicalType),
    Call(&'static str, Vec<NodeId>, LogicalType),
    Cast(NodeId, LogicalType, bool),
    Case(Vec<(NodeId, NodeId)>, Option<NodeId>, LogicalType),
}

pub(super) struct Graph {
    nodes: Vec<Node>,
    known: HashMap<Key, NodeId>,
    config: EvalConfig,
    pub(super) env: Option<Env>,
    pub(super) watermark_ms: Option<i64>,
}

impl Graph {
    pub(super) fn new(config: EvalConfig) -> Graph {
        Graph { nodes: Vec::new(), known: HashMap::new(), config, env: None, watermark_ms: None }
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id]
    }

    /// The node of an expression.
    pub(super) fn add(&mut self, expr: &Expr) -> Result<NodeId> {
        let ty = expr.ty().clone();
        match expr {
            Expr::Column { index, .. } => self.intern(Key::Column(*index), ty, true, |_| Ok(Op::Column(*index))),
            Expr::Literal { value, .. } => {
                let key = Key::Constant(value.clone(), ty.clone());
                self.intern(key, ty, true, |ty| array_of(value, ty).map(Op::Constant))
            }
            Expr::Cast { arg, or_null, .. } => {
                let from = arg.ty().clone();
                let arg = self.add(arg)?;
                let conversion = cast::conversion(&from, &ty, *or_null, &self.config)?;
                let cheap = self.nodes[arg].cheap && conversion.cheap;
                self.intern(Key::Cast(arg, ty.clone(), *or_null), ty, cheap, |_| Ok(Op::Cast { arg, conversion }))
            }
            Expr::Case { branches, otherwise, .. } => {
                let branches = branches.iter().map(|(c, r)| Ok((self.add(c)?, self.add(r)?))).collect::<Result<Vec<(NodeId, NodeId)>>>()?;
                let otherwise = otherwise.as_deref().map(|o| self.add(o)).transpose()?;
                self.add_case(branches, otherwise, ty)
            }
            Expr::Call { function, args, .. } => {
                let function =
                    functions::find(function).ok_or_else(|| Error::config(format!("this version has no function {function}")))?;
                let ids = args.iter().map(|a| self.add(a)).collect::<Result<Vec<_>>>()?;
                self.add_call(function, args, ids, ty)
            }
        }
    }

    fn add_call(&mut self, function: &'static Function, args: &[Expr], ids: Vec<NodeId>, ty: LogicalType) -> Result<NodeId> {
        match (function.name, ids.as_slice()) {
            ("AND" | "OR", _) => return self.add_junction(function.name, &ids, ty),
            ("IF", [condition, then, otherwise]) => return self.add_case(vec![(*condition, *then)], Some(*otherwise), ty),
            ("COALESCE" | "IFNULL", [values @ .., last]) => {
                let given = values.iter().map(|v| Ok((self.add_is_not_null(*v)?, *v))).collect::<Result<Vec<_>>>()?;
                return if given.is_empty() { Ok(*last) } else { self.add_case(given, Some(*last), ty) };
            }
            _ => {}
        }
        let arg_types: Vec<LogicalType> = args.iter().map(|a| a.ty().clone()).collect();
        let cheap = (function.cheap || functions::is_cheap_call(function, args)) && ids.iter().all(|a| self.nodes[*a].cheap);
        let make = |config: &EvalConfig, ty: &LogicalType, ids: Vec<NodeId>| {
            let prepared = function.prepare.map(|prepare| prepare(args, ty, config)).transpose()?.flatten();
            Ok(Op::Call { function, prepared, args: ids, arg_types })
        };
        if function.deterministic {
            let config = self.config.clone();
            self.intern(Key::Call(function.name, ids.clone(), ty.clone()), ty, cheap, |ty| make(&config, ty, ids))
        } else {
            let op = make(&self.config, &ty, ids)?;
            Ok(self.push(op, ty, false))
        }
    }

    fn add_is_not_null(&mut self, value: NodeId) -> Result<NodeId> {
        let function = functions::find("IS NOT NULL").ok_or_else(|| Error::bug("IS NOT NULL is not in the library"))?;
        let (ty, arg_types, cheap) = (TypeKind::Boolean.not_null(), vec![self.nodes[value].ty.clone()], self.nodes[value].cheap);
        self.intern(Key::Call(function.name, vec![value], ty.clone()), ty, cheap, |_| {
            Ok(Op::Call { function, prepared: None, args: vec![value], arg_types })
        })
    }

    /// AND of ANDs is one AND.
    fn add_junction(&mut self, name: &'static str, ids: &[NodeId], ty: LogicalType) -> Result<NodeId> {
        let mut parts = Vec::new();
        for id in ids {
            match &self.nodes[*id].op {
                Op::And(inner) if name == "AND" => parts.extend_from_slice(inner),
                Op::Or(inner) if name == "OR" => parts.extend_from_slice(inner),
                _ => parts.push(*id),
            }
        }
        let cheap = parts.iter().all(|p| self.nodes[*p].cheap);
        self.intern(Key::Call(name, parts.clone(), ty.clone()), ty, cheap, |_| {
            Ok(if name == "AND" { Op::And(parts) } else { Op::Or(parts) })
        })
    }

    fn add_case(&mut self, branches: Vec<(NodeId, NodeId)>, otherwise: Option<NodeId>, ty: LogicalType) -> Result<NodeId> {
        let cheap = branches.iter().flat_map(|(c, r)| [c, r]).chain(&otherwise).all(|id| self.nodes[*id].cheap);
        let key = Key::Case(branches.clone(), otherwise, ty.clone());
        self.intern(key, ty, cheap, |_| Ok(Op::Case { branches, otherwise }))
    }

    fn intern(&mut self, key: Key, ty: LogicalType, cheap: bool, make: impl FnOnce(&LogicalType) -> Result<Op>) -> Result<NodeId> {
        if let Some(id) = self.known.get(&key) {
            return Ok(*id);
        }
        let op = make(&ty)?;
        let id = self.push(op, ty, cheap);
        self.known.insert(key, id);
        Ok(id)
    }

    fn push(&mut self, op: Op, ty: LogicalType, cheap: bool) -> NodeId {
        self.nodes.push(Node { op, ty, cheap });
        self.nodes.len() - 1
    }

    /// The nodes that `roots` need for all rows and that some branch needs as well; what is cheap is not worth it.
    pub(super) fn shared_with_branches(&self, roots: &[NodeId]) -> Vec<NodeId> {
        let (mut always, mut sometimes) = (vec![false; self.len()], vec![false; self.len()]);
        roots.iter().for_each(|root| always[*root] = true);
        for id in (0..self.len()).rev() {
            let (strict, lazy) = self.needs(id);
            for child in strict {
                always[child] |= always[id];
                sometimes[child] |= sometimes[id];
            }
            for child in lazy {
                sometimes[child] |= always[id] || sometimes[id];
            }
        }
        (0..self.len()).filter(|id| always[*id] && sometimes[*id] && !self.nodes[*id].cheap).collect()
    }

    /// What a node needs for all of its rows, and what for some of them.
    fn needs(&self, id: NodeId) -> (Vec<NodeId>, Vec<NodeId>) {
        match &self.nodes[id].op {
            Op::Column(_) | Op::Constant(_) => (Vec::new(), Vec::new()),
            Op::Call { args, .. } => (args.clone(), Vec::new()),
            Op::Cast { arg, .. } => (vec![*arg], Vec::new()),
            Op::And(parts) | Op::Or(parts) => (parts[..1].to_vec(), parts[1..].to_vec()),
            Op::Case { branches, otherwise } => {
                let all: Vec<NodeId> = branches.iter().flat_map(|(c, r)| [*c, *r]).chain(*otherwise).collect();
                (all[..1].to_vec(), all[1..].to_vec())
            }
        }
    }

    /// The values of `roots`, one for each row of the frame; `first` are computed before.
    pub(super) fn columns(&self, frame: &mut Frame<'_>, first: &[NodeId], roots: &[NodeId]) -> Result<Vec<ArrayRef>> {
        for id in first {
            self.value(frame, *id)?;
        }
        let rows = frame.rows();
        roots.iter().map(|root| self.value(frame, *root)?.into_column(rows)).collect()
    }

    /// The value of a node for the rows of the frame.
    pub(super) fn value(&self, frame: &mut Frame<'_>, id: NodeId) -> Result<Value> {
        if let Some(value) = frame.known(self, id)? {
            return Ok(value);
        }
        let node = &self.nodes[id];
        let value = match &node.op {
            Op::Column(index) => return Err(Error::bug(format!("an expression reads column {index}, which its input does not have"))),
            Op::Constant(array) => Value::Constant(array.clone()),
            Op::Call { function, prepared, args, arg_types } => {
                let args = args.iter().map(|a| self.value(frame, *a)).collect::<Result<Vec<_>>>()?;
                let (rows, config, env) = (frame.rows(), &self.config, self.env.as_ref());
                let call = Call { args: &args, rows, arg_types, result: &node.ty, config, env, watermark_ms: self.watermark_ms };
                match prepared {
                    Some(prepared) => prepared(&call)?,
                    None => (function.eval)(&call)?,
                }
            }
            Op::Cast { arg, conversion } => match self.value(frame, *arg)? {
                Value::Column(array) => Value::Column((conversion.apply)(&array)?),
                Value::Constant(array) => Value::Constant((conversion.apply)(&array)?),
            },
            Op::And(parts) => branch::junction(self, frame, parts, true)?,
            Op::Or(parts) => branch::junction(self, frame, parts, false)?,
            Op::Case { branches, otherwise } => branch::case(self, frame, branches, *otherwise, &node.ty)?,
        };
        frame.keep(id, &value);
        Ok(value)
    }
}
