//! What an SDK expects of the kernel of a configuration, and whether a kernel of ours can be that.

use std::collections::BTreeMap;

use abi::config::{MOST_DOMAINS, MOST_TURNS};
use abi::{Method, sizes};
use anyhow::{Context, bail};
use serde_json::{Map, Value, json};

use super::source::VERSIONS;
use crate::Result;
use crate::cli::{AbiOption, Cores, Kernel};
use crate::image::elf::Machine;
use crate::platform::Platform;

/// The build options of a kernel: flags are booleans, numbers are texts. An option that is not there is off.
pub(super) struct Values(pub(super) Map<String, Value>);

impl Values {
    fn is_on(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool) == Some(true)
    }

    pub(super) fn number(&self, name: &str) -> Result<u64> {
        let text = self.0.get(name).and_then(Value::as_str);
        let number = text.and_then(|text| text.parse().ok());
        number.with_context(|| format!("gen_config.json has no number `{name}`"))
    }
}

/// The kernel of a configuration.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Configuration {
    pub(super) kernel: Kernel,
    pub(super) abi: Vec<AbiOption>,
    pub(super) cores: u32,
}

/// Options that change what programs see, and that these kernels do not have.
const REFUSED: [&str; 3] = ["ARM_HYPERVISOR_SUPPORT", "SET_TLS_BASE_SELF", "VTX"];

/// A number of cores that a kernel can have.
fn cores(number: u64) -> Result<u32> {
    let cores = u32::try_from(number).ok().filter(|cores| *cores > 0);
    cores.with_context(|| format!("it is for {number} cores, which no board has"))
}

impl Configuration {
    /// The kernel of `platform` that has these options and objects of these sizes.
    pub(super) fn of(
        values: &Values,
        object_sizes: &BTreeMap<String, u64>,
        platform: &Platform,
    ) -> Result<Self> {
        let machine = values.0.get("SEL4_ARCH").and_then(Value::as_str);
        let own = match platform.user.elf.machine {
            Machine::Aarch64 => Some("aarch64"),
            Machine::X86_64 => Some("x86_64"),
            _ => None,
        };
        if own.is_none() || machine != own {
            bail!("it is for another architecture than {}", platform.name);
        }
        if !values.is_on("KERNEL_MCS") {
            bail!("it is for a kernel without MCS; take an SDK of a newer version");
        }
        if let Some(name) = REFUSED.iter().find(|name| values.is_on(name)) {
            bail!(
                "it wants a kernel with {name}, which Escapement does not have; take another board"
            );
        }
        let configuration = Self {
            kernel: match (
                values.is_on("DEBUG_BUILD"),
                values.is_on("ENABLE_BENCHMARKS"),
            ) {
                (true, _) => Kernel::Debug,
                (_, true) => Kernel::Bench,
                _ => Kernel::Release,
            },
            abi: Self::options(values)?,
            cores: match values.is_on("ENABLE_SMP_SUPPORT") {
                true => cores(values.number("MAX_NUM_NODES")?)?,
                false => 1,
            },
        };
        platform.require(Cores {
            count: configuration.cores,
            big_lock: false,
        })?;
        configuration.check_sizes(object_sizes, platform.user.elf.machine)?;
        Ok(configuration)
    }

    fn options(values: &Values) -> Result<Vec<AbiOption>> {
        let flag = |name, option| values.is_on(name).then_some(option);
        let choice = |name, on: usize, off: usize, option| -> Result<_> {
            match values.number(name)? {
                value if value == on as u64 => Ok(Some(option)),
                value if value == off as u64 => Ok(None),
                value => bail!("it wants {name} to be {value}; here it can be {off} or {on}"),
            }
        };
        let domains = choice("NUM_DOMAINS", MOST_DOMAINS, 1, AbiOption::Domains)?;
        let turns = values.number("NUM_DOMAIN_SCHEDULES")?;
        if domains.is_some() && turns != MOST_TURNS as u64 + 1 {
            bail!("it wants {turns} entries of the domain schedule; here there are 100");
        }
        let options = [
            flag("IOMMU", AbiOption::Iommu),
            flag("HARDWARE_DEBUG_API", AbiOption::Hwdebug),
            domains,
            choice("ROOT_CNODE_SIZE_BITS", 17, 12, AbiOption::LargeRoot)?,
            flag("ALLOW_SMC_CALLS", AbiOption::Smc),
            flag("EXPORT_PTMR_USER", AbiOption::UserTimer),
        ];
        Ok(options.into_iter().flatten().collect())
    }

    /// The files `gen_config.json` and `object_sizes.json` of such a configuration for AArch64.
    pub(super) fn files(&self) -> [Value; 2] {
        let has = |option| self.abi.contains(&option);
        let number = |number: usize| number.to_string();
        let choice = |option, on, off| number(if has(option) { on } else { off });
        let is_debug = has(AbiOption::Hwdebug);
        [
            json!({
                "SEL4_ARCH": "aarch64",
                "KERNEL_MCS": true,
                "ARM_HYPERVISOR_SUPPORT": false,
                "DEBUG_BUILD": self.kernel == Kernel::Debug,
                "ENABLE_BENCHMARKS": self.kernel == Kernel::Bench,
                "ENABLE_SMP_SUPPORT": self.cores > 1,
                "MAX_NUM_NODES": self.cores.to_string(),
                "NUM_DOMAINS": choice(AbiOption::Domains, MOST_DOMAINS, 1),
                "NUM_DOMAIN_SCHEDULES": number(MOST_TURNS + 1),
                "ROOT_CNODE_SIZE_BITS": choice(AbiOption::LargeRoot, 17, 12),
                "HARDWARE_DEBUG_API": is_debug,
                "ALLOW_SMC_CALLS": has(AbiOption::Smc),
                "EXPORT_PTMR_USER": has(AbiOption::UserTimer),
            }),
            json!({
                "tcb": if is_debug { 12 } else { 11 },
                "endpoint": 4,
                "notification": 6,
                "reply": 5,
                "slot": 5,
                "vspace": 12,
                "page_table": 12,
                "small_page": 12,
                "large_page": 21,
                "huge_page": 30,
                "asid_pool": 12,
                "min_untyped_bits": 4,
                "max_untyped_bits": 47,
            }),
        ]
    }

    /// Refuses methods with other labels than the kernel's, as other versions of seL4 have them. Names are compared without
    /// regard to case.
    pub(super) fn check_labels(&self, labels: &BTreeMap<String, u64>) -> Result<()> {
        // The methods of all architectures come first. The numbers of this build are those without breakpoints.
        let first = Method::TcbSetTlsBase.number();
        let breakpoints = 4 * usize::from(self.abi.contains(&AbiOption::Hwdebug));
        let methods = 0..=Method::SchedContextYieldTo.number();
        for (number, method) in methods.filter_map(|one| Some((one, Method::from_number(one)?))) {
            if method == Method::InvalidInvocation {
                continue;
            }
            let own = number + if number < first { 0 } else { breakpoints };
            let name = format!("{method:?}");
            let theirs = labels
                .iter()
                .find(|(one, _)| one.eq_ignore_ascii_case(&name));
            let theirs = theirs.map(|(_, label)| *label);
            if theirs != Some(own as u64) {
                let theirs =
                    theirs.map_or("no label".to_string(), |label| format!("label {label}"));
                bail!(
                    "it has {theirs} for {name}, and the kernel {own}, so it is of another version of seL4; take the \
                     headers with which Microkit {} is released",
                    VERSIONS.join(" or ")
                );
            }
        }
        Ok(())
    }

    /// Refuses objects of other sizes than the kernel's.
    fn check_sizes(&self, object_sizes: &BTreeMap<String, u64>, machine: Machine) -> Result<()> {
        // The host's word has the same size. The numbers of this build are those without options.
        let has_breakpoints = self.abi.contains(&AbiOption::Hwdebug);
        let breakpoints = usize::from(has_breakpoints && machine == Machine::Aarch64);
        let own = [
            ("tcb", sizes::TCB_BITS + breakpoints),
            ("endpoint", sizes::ENDPOINT_BITS),
            ("notification", sizes::NOTIFICATION_BITS),
            ("reply", sizes::REPLY_BITS),
            ("slot", sizes::SLOT_BITS),
            ("vspace", sizes::VSPACE_BITS),
            ("page_table", sizes::PAGE_TABLE_BITS),
            ("small_page", sizes::PAGE_BITS),
            ("asid_pool", sizes::ASID_POOL_BITS),
            ("min_untyped_bits", sizes::MIN_UNTYPED_BITS),
            ("max_untyped_bits", sizes::MAX_UNTYPED_BITS),
        ];
        for (name, bits) in own {
            match object_sizes.get(name) {
                Some(&theirs) if theirs == bits as u64 => {}
                Some(theirs) => {
                    bail!("it wants `{name}` to have 2^{theirs} bytes; here it has 2^{bits}")
                }
                None => bail!("object_sizes.json has no number `{name}`"),
            }
        }
        Ok(())
    }
}
