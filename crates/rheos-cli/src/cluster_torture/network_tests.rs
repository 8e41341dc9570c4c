//! Links that are cut carry nothing. Where no namespaces can be made nothing is tested, and that is said.

use std::net::TcpListener;

use super::*;

/// One test at a time lays out a network: its names are those of the process.
static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn with_network(test: impl FnOnce(&mut Network)) {
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    match Network::new(3) {
        Ok(mut network) => test(&mut network),
        Err(Failure::Wrong(why)) => eprintln!("skipped, no namespaces can be made: {why}"),
        Err(other) => panic!("{other:?}"),
    }
}

/// Whether a packet of one host is answered by another: a connection to a port where nobody listens is refused.
fn is_answered(network: &Network, from: Host, to: Host) -> bool {
    let connect = format!(": > /dev/tcp/{}/9", network.address(to));
    let told = network.command(from, Path::new("timeout")).args(["0.5", "bash", "-c", &connect]).output().unwrap();
    told.status.code() == Some(1)
}

/// How many TCP segments have arrived at a host.
fn arrived(network: &Network, host: Host) -> u64 {
    let told = network.command(host, Path::new("cat")).arg("/proc/net/snmp").output().unwrap();
    let text = String::from_utf8(told.stdout).unwrap();
    let mut lines = text.lines().filter(|line| line.starts_with("Tcp:"));
    let at = lines.next().unwrap().split(' ').position(|name| name == "InSegs").unwrap();
    lines.next().unwrap().split(' ').nth(at).unwrap().parse().unwrap()
}

const A: Host = Host::Worker(0);
const B: Host = Host::Worker(1);
const C: Host = Host::Worker(2);

#[test]
fn every_host_hears_every_other_until_two_are_cut_apart() {
    with_network(|network| {
        for from in [Host::Coordinator, A, B, C] {
            for to in Host::all(3).filter(|to| *to != from) {
                assert!(is_answered(network, from, to), "{from} to {to}");
            }
        }
        network.cut(A, B).unwrap();
        network.cut(B, A).unwrap();
        assert!(!is_answered(network, A, B) && !is_answered(network, B, A));
        assert!(is_answered(network, A, C) && is_answered(network, Host::Coordinator, B));
        network.mend(A, B).unwrap();
        network.mend(B, A).unwrap();
        assert!(is_answered(network, A, B) && is_answered(network, B, A));
    });
}

#[test]
fn what_is_cut_one_way_arrives_the_other_way() {
    with_network(|network| {
        network.cut(A, B).unwrap();
        let (at_a, at_b) = (arrived(network, A), arrived(network, B));
        assert!(!is_answered(network, A, B));
        assert_eq!(arrived(network, B), at_b, "nothing of A arrives");
        assert!(!is_answered(network, B, A), "the answer does not arrive");
        assert!(arrived(network, A) > at_a, "the question has");
    });
}

#[test]
fn a_link_that_was_cut_twice_is_mended_twice() {
    with_network(|network| {
        network.cut(A, C).unwrap();
        network.cut(A, C).unwrap();
        network.mend(A, C).unwrap();
        assert!(!is_answered(network, A, C));
        network.mend(A, C).unwrap();
        assert!(is_answered(network, A, C));
    });
}

#[test]
fn a_host_without_its_plug_hears_nobody() {
    with_network(|network| {
        network.cut(A, B).unwrap();
        network.plug(C, false).unwrap();
        assert!(!is_answered(network, A, C) && !is_answered(network, C, A));
        network.plug(C, true).unwrap();
        assert!(is_answered(network, A, C) && is_answered(network, C, A) && !is_answered(network, A, B));
    });
}

#[test]
fn a_narrow_network_still_carries() {
    with_network(|network| {
        if let Err(Failure::Wrong(why)) = network.has_discipline("tbf") {
            return eprintln!("skipped, no tbf: {why}");
        }
        network.weaken(A, Weakness::Mbits(1)).unwrap();
        assert!(is_answered(network, A, B));
        network.strengthen(A).unwrap();
        assert!(is_answered(network, A, B));
    });
}

#[test]
fn the_client_is_a_host_too_and_nothing_is_left() {
    with_network(|network| {
        let listener = TcpListener::bind((network.address(Host::Client), 0)).unwrap();
        let connect = format!(": > /dev/tcp/{}/{}", network.address(Host::Client), listener.local_addr().unwrap().port());
        assert!(network.command(A, Path::new("bash")).args(["-c", &connect]).status().unwrap().success());
    });
    let own = format!("{PREFIX}{}-", std::process::id());
    let _turn = ONE_AT_A_TIME.lock().unwrap();
    assert!(names().iter().all(|name| !name.starts_with(&own)));
}
