//! Shared servers: the rules one by one, and what clients pay for.

mod bound;
mod lenders;
mod model;
mod nested;
mod parts;
mod passing;
mod rules;
mod scripts;
mod simulation;

use crate::{Client, TaskId};

fn client(cluster: usize, task: u16) -> Client {
    let task = TaskId(task);
    Client { cluster, task }
}
