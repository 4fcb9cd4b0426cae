//! A proxy that runs by a recipe, with addresses, certificate and folders of the test's.

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use mrtr_fixtures::Program;
use serde_json::Value;
use tempfile::TempDir;

/// A configuration that the page shows, and how its program runs with it.
pub(crate) struct Recipe {
    pub(crate) program: &'static str,
    text: &'static str,
    /// The lines of the recipe that differ in a test, and what stands there. `{address}` and `{folder}` are filled in.
    changes: &'static [(&'static str, &'static str)],
    /// The text around the recipe, whose place is `{recipe}`.
    frame: &'static str,
    arguments: &'static [&'static str],
    /// True if the proxy itself answers requests for other hosts.
    pub(crate) refuses_hosts: bool,
}

/// Runs in the foreground as one process, which ends when it is killed.
pub(crate) const NGINX: Recipe = Recipe {
    program: "nginx",
    text: include_str!("../../deployment/nginx.conf"),
    changes: &[
        ("listen 443 ssl;", "listen {address} ssl;"),
        ("/etc/ssl/mcp.example.com/fullchain.pem", "{folder}/fullchain.pem"),
        ("/etc/ssl/mcp.example.com/privkey.pem", "{folder}/privkey.pem"),
    ],
    frame: "daemon off; master_process off; pid {folder}/pid; error_log stderr crit; events {} http { access_log off; \
            client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi; \
            uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;\n{recipe}\n}\n",
    arguments: &["-e", "stderr", "-c"],
    refuses_hosts: false,
};

/// Asks no authority for a certificate, and keeps nothing outside of the folder.
pub(crate) const CADDY: Recipe = Recipe {
    program: "caddy",
    text: include_str!("../../deployment/Caddyfile"),
    changes: &[(
        "mcp.example.com {",
        "https://mcp.example.com:{port} {\n\tbind {ip}\n\ttls {folder}/fullchain.pem {folder}/privkey.pem",
    )],
    frame: "{\n\tadmin off\n\tauto_https disable_redirects\n\tstorage file_system {folder}\n\tlog {\n\
            \t\tlevel ERROR\n\t\texclude http.log.error\n\t}\n}\n{recipe}",
    arguments: &["run", "--adapter", "caddyfile", "--config"],
    refuses_hosts: true,
};

/// A proxy before two instances. It is gone when this value is.
pub(crate) struct Proxy {
    program: Program,
    certificate: reqwest::Certificate,
    _folder: TempDir,
}

impl Proxy {
    /// Starts the proxy, with further changes that a test makes to its recipe. `None` where it is not installed.
    pub(crate) fn start(recipe: &Recipe, instances: [SocketAddr; 2], changes: &[(&str, &str)]) -> Option<Self> {
        if Command::new(recipe.program).arg("version").output().is_err() {
            left_out(recipe.program);
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let certificate = certify(folder.path());
        let program = Program::start(recipe.program, |command, address| {
            let file = folder.path().join("configuration");
            std::fs::write(&file, recipe.configuration(address, folder.path(), instances, changes)).unwrap();
            // Caddy keeps a copy of its configuration in the home of its user.
            command.args(recipe.arguments).arg(file).env("HOME", folder.path()).env_remove("XDG_CONFIG_HOME");
        });
        Some(Self { program, certificate, _folder: folder })
    }

    /// The address of the endpoint, by this name of the proxy.
    pub(crate) fn url(&self, host: &str) -> String {
        format!("https://{host}:{}/assistant/mcp", self.program.address().port())
    }

    /// A client that trusts the proxy's certificate alone, knows where its name leads, and sends from this address. It
    /// waits for nothing for longer than ten seconds.
    pub(crate) fn client(&self, from: Option<IpAddr>) -> reqwest::Client {
        let client = reqwest::Client::builder().no_proxy().read_timeout(Duration::from_secs(10));
        let client = client.tls_certs_only([self.certificate.clone()]);
        client.resolve("mcp.example.com", self.program.address()).local_address(from).build().unwrap()
    }

    pub(crate) fn post(&self, host: &str, message: &Value) -> reqwest::RequestBuilder {
        self.post_by(&self.client(None), host, message)
    }

    /// A request of the published revision.
    pub(crate) fn post_by(&self, client: &reqwest::Client, host: &str, message: &Value) -> reqwest::RequestBuilder {
        let request = client.post(self.url(host)).header("content-type", "application/json");
        let request = request.header("accept", "application/json, text/event-stream");
        let request = request.header("mcp-protocol-version", "2026-07-28").header("mcp-method", "tools/call");
        request.header("mcp-name", message["params"]["name"].as_str().unwrap()).body(message.to_string())
    }
}

impl Recipe {
    fn configuration(
        &self,
        address: SocketAddr,
        folder: &Path,
        instances: [SocketAddr; 2],
        changes: &[(&str, &str)],
    ) -> String {
        let mut recipe = self.text.to_owned();
        let [one, other] = instances.map(|instance| instance.to_string());
        let instances = [("127.0.0.1:8000", &*one), ("127.0.0.1:8001", &other)];
        for (line, changed) in self.changes.iter().chain(&instances).chain(changes) {
            assert_eq!(recipe.matches(line).count(), 1, "the recipe has {line} once");
            recipe = recipe.replace(line, changed);
        }
        let framed = self.frame.replace("{recipe}", &recipe);
        let framed = framed.replace("{address}", &address.to_string()).replace("{ip}", &address.ip().to_string());
        framed.replace("{port}", &address.port().to_string()).replace("{folder}", &folder.display().to_string())
    }
}

/// Writes a certificate of the proxy's name, and its key, where the recipe has them.
fn certify(folder: &Path) -> reqwest::Certificate {
    let made = rcgen::generate_simple_self_signed(["mcp.example.com".to_owned()]).unwrap();
    std::fs::write(folder.join("fullchain.pem"), made.cert.pem()).unwrap();
    std::fs::write(folder.join("privkey.pem"), made.signing_key.serialize_pem()).unwrap();
    reqwest::Certificate::from_pem(made.cert.pem().as_bytes()).unwrap()
}

fn left_out(program: &str) {
    assert!(std::env::var_os("CI").is_none(), "{program} is not installed, and CI leaves nothing out");
    // Not by a macro, whose output the test harness would keep to itself.
    drop(std::io::stderr().write_all(format!("left out: {program} is not installed\n").as_bytes()));
}
