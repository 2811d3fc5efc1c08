//! A reverse proxy on Pingora for the benchmark: everything goes to one backend.
//! In: `LISTEN BACKEND THREADS [--grpc] [--tls CHAIN KEY]`. Out: a server, until it is ended.
//!
//! It does what the other peers are configured to do and nothing besides: connections kept on both
//! sides, the same forwarded fields, no log. Clients come by HTTP/1.1 or HTTP/2 (by ALPN over TLS,
//! by prior knowledge without); the backend speaks HTTP/1.1, or HTTP/2 without TLS for `--grpc`.

use async_trait::async_trait;
use pingora_core::apps::HttpServerOptions;
use pingora_core::listeners::tls::TlsSettings;
use pingora_core::protocols::ALPN;
use pingora_core::server::configuration::ServerConf;
use pingora_core::server::Server;
use pingora_core::upstreams::peer::HttpPeer;
use pingora_core::Result;
use pingora_http::RequestHeader;
use pingora_proxy::{ProxyHttp, ProxyServiceBuilder, Session};
use std::net::SocketAddr;
use std::process::exit;

/// The one that Cargo.toml pins.
const VERSION: &str = "0.9.1";
const USAGE: &str = "usage: pingora-peer LISTEN BACKEND THREADS [--grpc] [--tls CHAIN KEY]";

/// As many streams as a backend is known to take on a connection; nginx takes 128.
const BACKEND_STREAMS: usize = 128;

struct Proxy {
    peer: HttpPeer,
    port: String,
    protocol: &'static str,
}

#[async_trait]
impl ProxyHttp for Proxy {
    type CTX = ();

    fn new_ctx(&self) -> Self::CTX {}

    async fn upstream_peer(&self, _: &mut Session, _: &mut Self::CTX) -> Result<Box<HttpPeer>> {
        Ok(Box::new(self.peer.clone()))
    }

    async fn upstream_request_filter(
        &self,
        session: &mut Session,
        request: &mut RequestHeader,
        _: &mut Self::CTX,
    ) -> Result<()> {
        let client = match session.client_addr().and_then(|address| address.as_inet()) {
            Some(address) => address.ip().to_string(),
            None => String::new(),
        };
        // HTTP/2 may name the host by `:authority` alone.
        let host = match request.headers.get("host") {
            Some(value) => value.as_bytes().to_vec(),
            None => request.uri.authority().map_or(Vec::new(), |one| one.as_str().into()),
        };
        request.insert_header("X-Forwarded-For", &client)?;
        request.insert_header("X-Forwarded-Proto", self.protocol)?;
        request.insert_header("X-Forwarded-Host", host)?;
        request.insert_header("X-Forwarded-Port", &self.port)?;
        request.insert_header("X-Real-IP", &client)?;
        request.insert_header("X-Request-Id", format!("{:032x}", rand::random::<u128>()))?;
        Ok(())
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments == ["--version"] {
        println!("pingora {}", VERSION);
        return;
    }
    if arguments.len() < 3 {
        fail(USAGE);
    }
    let listen: SocketAddr = parsed(&arguments[0]);
    let backend: SocketAddr = parsed(&arguments[1]);
    let grpc = arguments.iter().any(|one| one == "--grpc");
    let tls = arguments.iter().position(|one| one == "--tls").map(|at| at + 1);

    let mut peer = HttpPeer::new(backend, false, String::new());
    if grpc {
        peer.options.alpn = ALPN::H2;
        peer.options.max_h2_streams = BACKEND_STREAMS;
    }
    let proxy = Proxy {
        peer,
        port: listen.port().to_string(),
        protocol: if tls.is_none() { "http" } else { "https" },
    };

    let configuration = ServerConf {
        threads: parsed(&arguments[2]),
        upstream_keepalive_pool_size: 320,
        // Without this it waits for five minutes when it is told to end.
        grace_period_seconds: Some(0),
        graceful_shutdown_timeout_seconds: Some(0),
        ..ServerConf::default()
    };
    let mut server = Server::new_with_opt_and_conf(None, configuration);
    server.bootstrap();
    let mut options = HttpServerOptions::default();
    options.h2c = true;
    let mut service =
        ProxyServiceBuilder::new(&server.configuration, proxy).server_options(options).build();
    match tls {
        None => service.add_tcp(&listen.to_string()),
        Some(at) => {
            if arguments.len() < at + 2 {
                fail(USAGE);
            }
            let mut settings = TlsSettings::intermediate(&arguments[at], &arguments[at + 1])
                .unwrap_or_else(|error| fail(&error.to_string()));
            settings.enable_h2();
            service.add_tls_with_settings(&listen.to_string(), None, settings);
        }
    }
    server.add_service(service);
    server.run_forever();
}

fn parsed<T: std::str::FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| fail(&format!("{text}: {USAGE}")))
}

fn fail(message: &str) -> ! {
    eprintln!("{message}");
    exit(2);
}
