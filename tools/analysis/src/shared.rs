//! Servers that clients of all criticalities share, on several cores.

use crate::{Error, Finding, Method, Result, Time};

/// [`mc_ipc`] and its source.
pub const MC_IPC: Method = Method {
    name: "MC-IPC",
    source: "Brandenburg, RTSS 2014",
    assumptions: &[
        "servers are single-threaded and call no other server",
        "each cluster runs its clients' reservations by global EDF or global fixed priorities",
        "requests are queued by the protocol's three queues, and a waiting client's reservation idles",
        "the client has the highest criticality, or its reservation is of the highest-criticality analysis",
        "the client has one of the C highest priorities of its cluster, or the clients above it there are not aborted in \
         service; else it takes L more (`userlib/schedulers`, `McIpc`)",
    ],
};

/// What a request takes from its client's reservation at most, whatever other clients do and however many they are:
/// (1 + 2 K C) L, for K clusters of C cores and requests of at most L.
///
/// # Errors
/// If there are no clusters or cores, or a value is out of range.
pub fn mc_ipc(clusters: u32, cores: u32, longest_request: Time) -> Result<Finding<Time>> {
    let waits = 1 + 2 * i128::from(clusters) * i128::from(cores);
    let possible = clusters > 0 && cores > 0 && longest_request > Time::ZERO;
    let all = longest_request.min(Time::LONGEST) * waits;
    if !possible || longest_request > Time::LONGEST || all > Time::HORIZON {
        let why = format!(
            "{clusters} clusters of {cores} cores and requests of {longest_request} are impossible or too many"
        );
        return Err(Error::impossible("shared server", why));
    }
    Ok(MC_IPC.finds(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_clusters_of_two_cores_wait_nine_times() {
        let request = Time::from_millis(1);
        assert_eq!(mc_ipc(2, 2, request).unwrap().value, Time::from_millis(9));
        mc_ipc(0, 2, request).unwrap_err();
        mc_ipc(u32::MAX, u32::MAX, Time::LONGEST).unwrap_err();
    }
}
