//! The description of the board that root tasks get with their boot information: its devices, in the form and
//! with the names of the *Devicetree Specification* 0.4 and of the bindings that operating systems share.
//! Addresses and interrupts are those of the IMX6DQRM, chapters 2 and 3.
//!
//! RAM is not included. The kernel detects its size, and reports it by untyped memory.

use vm_fdt::{Error, FdtWriter};

const GIC: u32 = 1;
/// Cells of an interrupt: shared line (0), number, level-triggered and active high (4).
const fn shared(line: u32) -> [u32; 3] {
    [0, line, 4]
}

/// One device: node, compatible, address, size, interrupt line.
type Device = (&'static str, &'static [&'static str], u32, u32, u32);

/// Devices on the first bridge to the peripherals.
const AIPS1: &[Device] = &[
    (
        "serial",
        &["fsl,imx6q-uart", "fsl,imx21-uart"],
        0x0202_0000,
        0x4000,
        26,
    ),
    (
        "gpt",
        &["fsl,imx6q-gpt", "fsl,imx31-gpt"],
        0x0209_8000,
        0x4000,
        55,
    ),
    (
        "gpio",
        &["fsl,imx6q-gpio", "fsl,imx35-gpio"],
        0x0209_c000,
        0x4000,
        66,
    ),
    (
        "wdog",
        &["fsl,imx6q-wdt", "fsl,imx21-wdt"],
        0x020b_c000,
        0x4000,
        80,
    ),
    (
        "epit",
        &["fsl,imx6q-epit", "fsl,imx31-epit"],
        0x020d_0000,
        0x4000,
        56,
    ),
    (
        "epit",
        &["fsl,imx6q-epit", "fsl,imx31-epit"],
        0x020d_4000,
        0x4000,
        57,
    ),
];

/// Devices on the second bridge.
const AIPS2: &[Device] = &[
    ("ethernet", &["fsl,imx6q-fec"], 0x0218_8000, 0x4000, 118),
    (
        "serial",
        &["fsl,imx6q-uart", "fsl,imx21-uart"],
        0x021e_8000,
        0x4000,
        27,
    ),
];

/// The device tree blob.
pub fn blob() -> Result<Vec<u8>, Error> {
    let mut tree = FdtWriter::new()?;
    let root = tree.begin_node("")?;
    tree.property_string("model", "Boundary Devices i.MX6 Quad Sabre Lite")?;
    tree.property_string_list(
        "compatible",
        strings(&["boundary,imx6q-sabrelite", "fsl,imx6q"]),
    )?;
    tree.property_u32("#address-cells", 1)?;
    tree.property_u32("#size-cells", 1)?;
    tree.property_u32("interrupt-parent", GIC)?;
    processor(&mut tree)?;

    let soc = tree.begin_node("soc")?;
    bus(&mut tree, &["simple-bus"])?;
    interrupt_controller(&mut tree)?;
    for (name, devices) in [("aips-bus@2000000", AIPS1), ("aips-bus@2100000", AIPS2)] {
        let node = tree.begin_node(name)?;
        bus(&mut tree, &["fsl,aips-bus", "simple-bus"])?;
        for device in devices {
            peripheral(&mut tree, device)?;
        }
        tree.end_node(node)?;
    }
    tree.end_node(soc)?;
    tree.end_node(root)?;
    tree.finish()
}

fn processor(tree: &mut FdtWriter) -> Result<(), Error> {
    let cpus = tree.begin_node("cpus")?;
    tree.property_u32("#address-cells", 1)?;
    tree.property_u32("#size-cells", 0)?;
    let cpu = tree.begin_node("cpu@0")?;
    tree.property_string("device_type", "cpu")?;
    tree.property_string("compatible", "arm,cortex-a9")?;
    tree.property_u32("reg", 0)?;
    tree.end_node(cpu)?;
    tree.end_node(cpus)
}

fn interrupt_controller(tree: &mut FdtWriter) -> Result<(), Error> {
    let node = tree.begin_node("interrupt-controller@a01000")?;
    tree.property_string("compatible", "arm,cortex-a9-gic")?;
    tree.property_null("interrupt-controller")?;
    tree.property_u32("#interrupt-cells", 3)?;
    tree.property_array_u32("reg", &[0x00a0_1000, 0x1000, 0x00a0_0100, 0x100])?;
    tree.property_phandle(GIC)?;
    tree.end_node(node)
}

/// A bus without address translation.
fn bus(tree: &mut FdtWriter, compatible: &[&str]) -> Result<(), Error> {
    tree.property_string_list("compatible", strings(compatible))?;
    tree.property_u32("#address-cells", 1)?;
    tree.property_u32("#size-cells", 1)?;
    tree.property_null("ranges")
}

fn peripheral(tree: &mut FdtWriter, device: &Device) -> Result<(), Error> {
    let (name, compatible, address, size, line) = *device;
    let node = tree.begin_node(&format!("{name}@{address:x}"))?;
    tree.property_string_list("compatible", strings(compatible))?;
    tree.property_array_u32("reg", &[address, size])?;
    tree.property_array_u32("interrupts", &shared(line))?;
    tree.end_node(node)
}

fn strings(list: &[&str]) -> Vec<String> {
    list.iter().map(|&one| one.into()).collect()
}
