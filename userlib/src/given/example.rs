/// What the system's description gives `client`.
#[allow(dead_code, reason = "a program need not use everything")]
pub struct Given {
    /// The monotonic clock.
    pub clock: ::userlib::time::Clock,
    /// The endpoint `server.requests`, which it calls.
    pub server: ::userlib::given::Client,
    /// The endpoint `log.lines`, which it calls.
    pub log: ::userlib::given::Sender,
    /// The signals and interrupts for which it waits.
    pub signals: ::userlib::given::Signals,
    /// The memory `report`, which it reads and writes.
    pub report: &'static [::core::sync::atomic::AtomicUsize],
    /// The memory `settings`, which it reads.
    pub settings: ::userlib::given::ReadOnly,
    /// The registers of `serial`.
    pub serial: ::userlib::given::Registers,
    /// The interrupt of `serial`.
    pub serial_interrupt: ::userlib::given::Interrupt,
    /// The argument `loud`.
    pub loud: bool,
    /// The argument `rate`.
    pub rate: usize,
}

impl Given {
    fn find(startup: &'static ::userlib::Startup) -> Self {
        Self {
            clock: ::userlib::time::Clock::from_startup(startup),
            server: ::userlib::given::Client::find(startup, "server").unwrap_or_else(|| panic!("the parent did not give `server`")),
            log: ::userlib::given::Sender::find(startup, "log").unwrap_or_else(|| panic!("the parent did not give `log`")),
            signals: ::userlib::given::Signals::find(startup).unwrap_or_else(|| panic!("the parent did not give `signals`")),
            report: startup.find_memory("report").map(|_| startup.shared("report")).unwrap_or_else(|| panic!("the parent did not give `report`")),
            settings: ::userlib::given::ReadOnly::find(startup, "settings").unwrap_or_else(|| panic!("the parent did not give `settings`")),
            serial: ::userlib::given::Registers::find(startup, "serial").unwrap_or_else(|| panic!("the parent did not give `serial`")),
            serial_interrupt: ::userlib::given::Interrupt::find(startup, "serial-interrupt").unwrap_or_else(|| panic!("the parent did not give `serial-interrupt`")),
            loud: startup.find_number("loud").map(|flag| flag != 0).unwrap_or_else(|| panic!("the parent did not give `loud`")),
            rate: startup.find_number("rate").unwrap_or_else(|| panic!("the parent did not give `rate`")),
        }
    }
}
