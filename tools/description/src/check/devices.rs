//! Devices and interrupts: each has one owner.

use super::components::made_name;
use super::{Draft, links, unknown};
use crate::file::At;
use crate::platform::Device;
use crate::report::{Diagnostic, Kind, Report, Span};
use crate::system::{ComponentId, DeviceUse, InterruptUse};

/// A device or an interrupt that has an owner.
struct Owned<'f> {
    owner: ComponentId,
    span: &'f Span,
    /// The platform's name.
    name: String,
    device: Device,
}

/// Resolves the devices of all components.
pub(super) fn all(draft: &mut Draft, report: &mut Report) {
    let mut owned = Vec::new();
    for id in draft.system.ids() {
        of_component(draft, id, &mut owned, report);
    }
    for (index, one) in owned.iter().enumerate() {
        let first = owned[..index]
            .iter()
            .find_map(|other| Some((other, shared(&one.device, &other.device)?)));
        if let Some((first, what)) = first {
            let (owner, device) = (&draft.system[first.owner].name, &one.name);
            let message = if device == &first.name {
                format!("`{owner}` has {what} of `{device}` already")
            } else {
                format!(
                    "`{owner}` has {what} of `{device}` already, as part of `{}`",
                    first.name
                )
            };
            let help = "let one component drive it, and the other call that one";
            let one = Diagnostic::error(Kind::TwoOwners, one.span, message).help(help);
            report.add(one.related(first.span, "the first owner"));
        }
    }
}

/// What two devices have in common.
fn shared(one: &Device, other: &Device) -> Option<&'static str> {
    let registers = one.registers.iter().any(|a| {
        let end = |address: u64, size: u64| address.saturating_add(size);
        let meets = |b: &crate::platform::Registers| {
            a.address < end(b.address, b.size) && b.address < end(a.address, a.size)
        };
        other.registers.iter().any(meets)
    });
    let ports = one.ports.iter().any(|[first, last]| {
        other
            .ports
            .iter()
            .any(|[begin, end]| first <= end && begin <= last)
    });
    let line = |device: &Device| device.interrupt.map(|interrupt| interrupt.line);
    match (registers, ports) {
        (true, _) => Some("the registers"),
        (_, true) => Some("the I/O ports"),
        _ => (line(one).is_some() && line(one) == line(other)).then_some("the interrupt"),
    }
}

/// The devices and interrupts of a component.
fn of_component<'f>(
    draft: &mut Draft<'f>,
    id: ComponentId,
    owned: &mut Vec<Owned<'f>>,
    report: &mut Report,
) {
    let source = draft.source(id);
    links::once(&source.devices, "a device", report);
    links::once(&source.interrupts, "an interrupt", report);
    for (name, device) in &source.devices.0 {
        if let Some(resources) = find(draft, device, report) {
            let one = DeviceUse {
                name: name.value.clone(),
                device: device.value.clone(),
                resources: resources.clone(),
            };
            draft.system.components[id.0].devices.push(one);
            let made = format!("{}-interrupt", **name);
            if resources.interrupt.is_some() {
                made_name(&made, &name.span, report);
            }
            interrupt(draft, id, made, device, &resources, report);
            owned.push(Owned {
                owner: id,
                span: &device.span,
                name: device.value.clone(),
                device: resources,
            });
        }
    }
    for (name, device) in &source.interrupts.0 {
        let Some(resources) = find(draft, device, report) else {
            continue;
        };
        if resources.interrupt.is_none() {
            let message = format!("device `{}` has no interrupt", **device);
            let help = "remove it, or ask for the device in `devices`";
            report.add(Diagnostic::error(Kind::UnknownName, &device.span, message).help(help));
        }
        interrupt(draft, id, name.value.clone(), device, &resources, report);
        let only = Device {
            interrupt: resources.interrupt,
            ..Device::default()
        };
        owned.push(Owned {
            owner: id,
            span: &device.span,
            name: device.value.clone(),
            device: only,
        });
    }
}

/// The device of the platform.
fn find(draft: &Draft, name: &At<String>, report: &mut Report) -> Option<Device> {
    let known = &draft.platform.devices;
    let found = known.get(&**name).cloned();
    if found.is_none() {
        let known: Vec<_> = known.keys().map(String::as_str).collect();
        report.add(unknown("device", name, "", &known));
    }
    found
}

/// The interrupt of a device becomes a bit of the component's notification.
fn interrupt(
    draft: &mut Draft,
    id: ComponentId,
    name: String,
    device: &At<String>,
    resources: &Device,
    report: &mut Report,
) {
    let Some(interrupt) = resources.interrupt else {
        return;
    };
    let component = &mut draft.system.components[id.0];
    let bit = component.waits.len() + component.interrupts.len();
    let most = draft.platform.badge_bits() as usize;
    if bit == most {
        let message = format!("signals and interrupts are more than the {most} of a component");
        let help = "use one signal for several purposes, or another component";
        report.add(Diagnostic::error(Kind::OutOfRange, &device.span, message).help(help));
    }
    component.interrupts.push(InterruptUse {
        name,
        device: device.value.clone(),
        interrupt,
        bit: bit as u32,
    });
}
