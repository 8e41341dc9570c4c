//! Makes Rust of the protocol's definition, without a compiler that has to be installed.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files = protox::compile(["rheos/control/v1/control.proto"], ["proto"])?;
    println!("cargo::rerun-if-changed=proto");
    tonic_prost_build::configure().compile_fds(files)?;
    Ok(())
}
