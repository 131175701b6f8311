//! The service as processes, with a server of PostgreSQL that the test starts.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tenure::Token;
use tenure_example_service::Orders as _;
use tenure_example_service::database::Database;
use tenure_servers::PostgresServer;

/// Far longer than any step should take.
const SOON: Duration = Duration::from_secs(120);

fn url(server: &PostgresServer) -> String {
    format!("postgres://postgres@127.0.0.1:{}/postgres", server.port())
}

struct Program {
    child: Child,
    address: String,
}

impl Program {
    fn start(server: &PostgresServer) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure-example-service"));
        command.env("DATABASE_URL", url(server)).env("LISTEN", "127.0.0.1:0");
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let listens = lines.find(|line| line.contains("listening")).unwrap();
        let (_, address) = listens.split_once("address=").unwrap();
        // What it prints later has to be read too.
        thread::spawn(move || lines.for_each(|line| println!("{line}")));
        Self { child, address: address.trim().to_owned() }
    }

    /// The head and the body of an answer.
    fn ask(&self, method: &str, path: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        let rest = "Host: service\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        write!(stream, "{method} {path} HTTP/1.1\r\n{rest}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    fn get(&self, path: &str) -> String {
        self.ask("GET", path).1
    }

    /// Sends an order until it is accepted.
    fn orders(&self) {
        soon(|| self.ask("POST", "/orders").0.starts_with("HTTP/1.1 200"));
    }

    fn ends_cleanly(&mut self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn soon(is_so: impl Fn() -> bool) {
    let end = Instant::now() + SOON;
    while !is_so() {
        assert!(Instant::now() < end, "not within {SOON:?}");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn the_next_leader_ships_what_is_left() {
    let server = PostgresServer::start().unwrap();
    let mut first = Program::start(&server);
    first.orders(); // it leads
    soon(|| first.get("/shipped") == "1 shipments of 1 orders\n");

    let second = Program::start(&server);
    soon(|| second.ask("GET", "/readyz").0.starts_with("HTTP/1.1 200"));
    assert!(second.ask("GET", "/healthz").0.starts_with("HTTP/1.1 200"));
    let leads = "\ntenure_leading{key_class=\"orders\"} 1\n";
    assert!(first.get("/metrics").contains(leads) && !second.get("/metrics").contains(leads));
    let names_the_leader = format!("tenure-leader: {}", first.address);
    soon(|| {
        let (refused, _) = second.ask("POST", "/orders");
        refused.starts_with("HTTP/1.1 503") && refused.contains(&names_the_leader)
    });

    first.orders();
    first.ends_cleanly();
    second.orders();
    soon(|| second.get("/shipped") == "3 shipments of 3 orders\n");
}

/// The statements do what the fake of the simulation does.
#[tokio::test]
async fn late_writes_are_refused() -> anyhow::Result<()> {
    let server = PostgresServer::start()?;
    let database = Database::connect(&url(&server)).await?;
    let [first, second] = [1, 2].map(|number: i64| Token::try_from(number).unwrap());
    assert!(database.accept(first).await.is_err(), "not taken over yet");
    database.take_over(first).await?;
    let order = database.accept(first).await?;
    assert_eq!(database.next().await?, Some(order));
    database.take_over(second).await?;
    assert!(database.take_over(first).await.is_err());
    assert!(database.ship(order, first).await.is_err());
    assert_eq!(database.shipped().await?, (0, 0));
    database.ship(order, second).await?;
    assert_eq!((database.next().await?, database.shipped().await?), (None, (1, 1)));
    Ok(())
}
