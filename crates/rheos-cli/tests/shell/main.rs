//! `rheos sql` as a user has it: on a terminal, and on a pipe.

mod pipe;
mod terminal;
mod typed;
