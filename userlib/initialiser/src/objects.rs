//! The objects that connect components, and those that outlive a restart.

use crate::domains::has_domains;
use crate::emergency::Emergency;
use crate::{During, Problem};
use system_table::{ArenaSize, Gift, MOST_COMPONENTS, MOST_ENDPOINTS, MOST_REGIONS, Table, Time};
use userlib::abi::endpoint_flags::{DONATION_REQUIRED, LIMIT, TELL_BUDGET};
use userlib::cap::{Endpoint, Frames, Notification, Reply, SchedContext, SchedParameters};
use userlib::environment::SharedPage;
use userlib::server::STOPPED;
use userlib::{BootInfo, CPtr, Capability, Environment, Microseconds, Rights, boot};

/// All of them, by their indices in the table.
pub struct Objects {
    /// The endpoint that receives the faults that the supervisor handles, with the [`badge`] of the component.
    pub faults: Endpoint,
    /// The reply object for faults.
    pub fault_reply: Reply,
    /// The endpoints at which components serve.
    pub endpoints: [Endpoint; MOST_ENDPOINTS],
    /// For the callers of each endpoint.
    pub replies: [Reply; MOST_ENDPOINTS],
    /// What a component has that a restart does not change.
    pub own: [Own; MOST_COMPONENTS],
    /// The frames of each region.
    regions: [Frames; MOST_REGIONS],
    /// Whether the processor's caches hold a region.
    cacheable: [bool; MOST_REGIONS],
    /// Whether there is a schedule of domains.
    pub has_domains: bool,
}

/// A component's objects that a restart does not change.
#[derive(Clone, Copy)]
pub struct Own {
    /// Its context, or that which is lent to it.
    pub context: SchedContext,
    /// For the signals that it gets, and for the context that is lent to it.
    pub notification: Notification,
    /// If it watches others, the time that timeouts have reported, in a word for each component.
    pub times: Option<SharedPage>,
    /// What lets it continue when its time is used up.
    pub emergency: Option<Emergency>,
}

impl Objects {
    /// Creates all of them.
    pub fn create(
        boot: &BootInfo,
        environment: &mut Environment,
        table: &Table<'static>,
    ) -> Result<Self, Problem<'static>> {
        const WHAT: &str = "an endpoint, or shared memory";
        let mut objects = Self {
            faults: environment.allocator.create().during(WHAT)?,
            fault_reply: environment.allocator.create().during(WHAT)?,
            endpoints: [Endpoint::at(CPtr::NULL); MOST_ENDPOINTS],
            replies: [Reply::at(CPtr::NULL); MOST_ENDPOINTS],
            own: [Own {
                context: SchedContext::at(CPtr::NULL),
                notification: Notification::at(CPtr::NULL),
                times: None,
                emergency: None,
            }; MOST_COMPONENTS],
            regions: [Frames::NONE; MOST_REGIONS],
            cacheable: [true; MOST_REGIONS],
            has_domains: has_domains(table),
        };
        for (index, one) in table.endpoints().enumerate() {
            objects.endpoints[index] = endpoint(environment, &one).during(WHAT)?;
            objects.replies[index] = environment.allocator.create().during(WHAT)?;
        }
        objects.create_regions(environment, table).during(WHAT)?;
        for (index, (component, gifts)) in table.components().enumerate() {
            let watches = gifts.iter().any(|gift| matches!(gift, Gift::Watch { .. }));
            let times = watches.then(|| environment.create_shared_page());
            let (badge, core) = (badge(Role::Own, index), component.core);
            let emergency = Emergency::create(boot, environment, &objects, index, &component);
            let own = Own {
                context: context(boot, environment, component.time, core, badge)
                    .during(component.name)?,
                notification: environment.allocator.create().during(component.name)?,
                times: times.transpose().during(component.name)?,
                emergency: emergency.during(component.name)?,
            };
            objects.own[index] = own;
        }
        Ok(objects)
    }

    /// Creates shared memory, all of it in one arena.
    fn create_regions(&mut self, environment: &mut Environment, table: &Table) -> userlib::Result {
        let pages: u64 = table.regions().map(|region| u64::from(region.pages)).sum();
        if pages == 0 {
            return Ok(());
        }
        let size = ArenaSize::of_frames(pages);
        let bytes = size.bytes().ok_or(userlib::Error::OutOfResources)?;
        let mut arena = environment
            .allocator
            .split_bytes(bytes, size.slots as usize)?;
        for (index, region) in table.regions().enumerate() {
            self.regions[index] = arena.allocator.create_frames(region.pages as usize)?;
            self.cacheable[index] = region.cacheable;
        }
        environment.allocator.give_up_arena(arena)
    }

    /// Refuses all calls at an endpoint: those of callers that wait, and later ones.
    pub fn refuse(&self, environment: &mut Environment, table: &Table, id: u16) -> userlib::Result {
        let endpoint = self.endpoints[usize::from(id)];
        let slot = environment.allocator.slot(endpoint);
        slot.set_endpoint_threshold(STOPPED, 0)?;
        for gift in table.components().flat_map(|(_, gifts)| gifts.iter()) {
            if let Gift::Call {
                endpoint: called,
                badge,
                ..
            } = gift
                && called == id
            {
                // Callers that wait begin again.
                let allocator = &mut environment.allocator;
                let badged = allocator.mint(endpoint, Rights::ALL, badge as usize)?;
                allocator.slot(badged).cancel_badged_sends()?;
                allocator.delete(badged)?;
            }
        }
        Ok(())
    }

    /// Whether the processor's caches hold a region.
    pub fn is_cacheable(&self, index: u16) -> bool {
        self.cacheable[usize::from(index)]
    }

    /// The frames of a region.
    pub fn region(&self, index: u16) -> Frames {
        self.regions[usize::from(index)]
    }
}

fn endpoint(
    environment: &mut Environment,
    one: &system_table::Endpoint,
) -> userlib::Result<Endpoint> {
    let endpoint: Endpoint = environment.allocator.create()?;
    let flag = |set: bool, flag: usize| if set { flag } else { 0 };
    let flags = flag(one.limit, LIMIT)
        | flag(one.donation_required, DONATION_REQUIRED)
        | flag(one.tell_budget, TELL_BUDGET);
    if one.threshold != 0 || flags != 0 {
        let slot = environment.allocator.slot(endpoint);
        slot.set_endpoint_threshold(Microseconds(one.threshold), flags)?;
    }
    Ok(endpoint)
}

/// Creates a context on a core. The badge names the component in timeouts.
pub fn context(
    boot: &BootInfo,
    environment: &mut Environment,
    time: Time,
    core: u32,
    badge: usize,
) -> userlib::Result<SchedContext> {
    let parameters = parameters(time).with_badge(badge);
    let context = environment.allocator.create_sized(parameters.size_bits())?;
    control(boot, core)?.configure(context, &parameters)?;
    Ok(context)
}

/// The right to configure contexts of a core.
pub fn control(boot: &BootInfo, core: u32) -> userlib::Result<userlib::cap::SchedControl> {
    let control = boot::sched_controls(boot).nth(core as usize);
    control.ok_or(userlib::Error::OutOfResources)
}

/// What of a component a badge stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Itself, and its context.
    Own,
    /// The context that is set aside for it.
    Emergency,
    /// Its replenishment notifier.
    Notifier,
    /// Its right to ask the supervisor.
    Request,
}

/// The badge by which the supervisor knows a component, one of its contexts, or its replenishment notifier.
pub const fn badge(role: Role, index: usize) -> usize {
    1 + index + role as usize * MOST_COMPONENTS
}

/// What a badge stands for, and the component.
pub fn bearer(badge: usize) -> Option<(Role, usize)> {
    let place = badge.checked_sub(1)?;
    let roles = [Role::Own, Role::Emergency, Role::Notifier, Role::Request];
    let role = *roles.get(place / MOST_COMPONENTS)?;
    Some((role, place % MOST_COMPONENTS))
}

/// The kernel's parameters of a context.
pub fn parameters(time: Time) -> SchedParameters {
    SchedParameters {
        budget: Microseconds(time.budget),
        period: Microseconds(time.period),
        extra_refills: time.extra_refills as usize,
        badge: 0,
        sporadic: time.sporadic,
        idling: time.idling,
    }
}
