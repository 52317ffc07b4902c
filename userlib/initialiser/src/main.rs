//! The generic initialiser: the root task of every system whose description names no other one.
//!
//! It reads the table that the tool has made of the description, sets up the components, gives up all authority
//! that it does not need any more, and remains as supervisor, which reports faults and starts components again.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

mod authority;
mod devices;
mod domains;
mod emergency;
mod member;
mod objects;
mod supervisor;

use core::fmt::Display;
use member::Member;
use objects::Objects;
use supervisor::Supervisor;
use system_table::{FILE, MOST_COMPONENTS, Table};
use userlib::time::Clock;
use userlib::{BootInfo, Environment, archive, println};

userlib::root!(main);

fn main(boot: &'static BootInfo) -> usize {
    let table = match Table::parse(archive::file(FILE).unwrap_or_default()) {
        Ok(table) => table,
        Err(damage) => return failed(&damage),
    };
    let mut environment = Environment::from_boot_info(boot);
    match set_up(boot, table, &mut environment) {
        Ok(supervisor) => supervisor.run(&mut environment),
        Err(problem) => failed(&problem),
    }
}

fn failed(problem: &dyn Display) -> usize {
    println!("initialiser: {problem}");
    1
}

/// What could not be set up, and why.
struct Problem<'a> {
    /// The component, or a part of the initialiser.
    what: &'a str,
    error: userlib::Error,
}

impl Display for Problem<'_> {
    fn fmt(&self, out: &mut core::fmt::Formatter) -> core::fmt::Result {
        write!(out, "`{}` could not be set up: {:?}", self.what, self.error)
    }
}

/// Names what was set up when an error occurred.
trait During<T> {
    fn during(self, what: &str) -> Result<T, Problem<'_>>;
}

impl<T> During<T> for userlib::Result<T> {
    fn during(self, what: &str) -> Result<T, Problem<'_>> {
        self.map_err(|error| Problem { what, error })
    }
}

/// Creates everything, and starts the components at last.
fn set_up(
    boot: &'static BootInfo,
    table: Table<'static>,
    environment: &mut Environment,
) -> Result<Supervisor, Problem<'static>> {
    const OWN: &str = "the initialiser";
    // A CNode for each component, with a slot for each page of it.
    let (tcb, vspace) = (environment.tcb, environment.vspace);
    let allocator = &mut environment.allocator;
    allocator
        .extend_cspace(tcb, vspace, boot.cnode_size_bits)
        .during(OWN)?;
    environment.end_with_root_task("initialiser").during(OWN)?;
    let clock = Clock::start(environment, boot).during("the clock")?;
    let objects = Objects::create(boot, environment, &table)?;
    let mut members = [const { None }; MOST_COMPONENTS];
    for (index, (component, gifts)) in table.components().enumerate() {
        let program = archive::file(component.program).unwrap_or_default();
        let member = Member::create(
            environment,
            &objects,
            &clock,
            index,
            &component,
            (gifts, table.mapped_pages(gifts)),
            program,
        );
        members[index] = Some(member.during(component.name)?);
    }
    authority::reduce(boot, environment).during(OWN)?;
    domains::start(boot, &table).during("the schedule of domains")?;
    for (member, (component, _)) in members.iter().flatten().zip(table.components()) {
        member.start().during(component.name)?;
    }
    authority::take_place(boot, environment, &table).during(OWN)?;
    Ok(Supervisor::new(table, objects, members, clock))
}
