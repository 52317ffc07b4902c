//! The kernel's log on a serial port of its own.

/// Sends the kernel's log, as defmt frames, to the port of a kind at an address. Makes a module `log`, whose
/// `start` starts the port.
///
/// The registers of such a port must be at the address, and nothing else may use it.
#[macro_export]
macro_rules! log_to_port {
    ($port:ty, $address:expr) => {
        #[cfg(feature = "log")]
        mod log {
            use super::*;

            // SAFETY: as this macro requires.
            static PORT: $port = unsafe { <$port>::at($address) };

            /// Enables the port.
            pub(crate) fn start() {
                PORT.start();
            }

            fn put_bytes(bytes: &[u8]) {
                bytes.iter().copied().for_each(|byte| PORT.put_byte(byte));
            }

            ::kernel::log_to!(put_bytes);
        }
    };
}
