//! Speed, as ratios within one run: `cargo xtask bench`.

mod envelope;
mod measure;
mod peers;
mod state;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [serve, candidate, port] = arguments.as_slice()
        && serve == "serve"
    {
        let port = port.parse()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        return match candidate.as_str() {
            "rmcp" => runtime.block_on(peers::rmcp_server::serve(port)),
            _ => runtime.block_on(peers::neva_server::serve(port)),
        };
    }
    println!("{:<58} {:>10} {:>10} {:>7} {:>7}", "comparison", "baseline", "ours", "ratio", "target");
    for comparison in envelope::comparisons().into_iter().chain(state::comparisons()) {
        println!("{comparison}");
    }
    Ok(())
}
