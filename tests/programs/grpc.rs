//! A gRPC service of tonic behind the layer for leader-only requests.

use tenure::Candidate;
use tenure::leader_only::LeaderOnly;
use tenure::store::Memory;
use tokio::net::TcpListener;
use tonic::Code;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Server};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

type Client = HealthClient<Channel>;

/// A client of the health service in the process of that candidate.
async fn client_of(candidate: &Candidate) -> Client {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (_reporter, health) = tonic_health::server::health_reporter();
    let server = Server::builder().layer(LeaderOnly::new(candidate)).add_service(health);
    tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
    let channel = Channel::from_shared(format!("http://{address}")).unwrap().connect().await;
    HealthClient::new(channel.unwrap())
}

/// The end of a call.
async fn call(client: &mut Client) -> Code {
    let answer = client.check(HealthCheckRequest::default()).await;
    answer.map_or_else(|status| status.code(), |_| Code::Ok)
}

#[tokio::test]
async fn only_the_leader_serves_grpc() {
    let store = Memory::new();
    let first = Candidate::builder(store.clone(), "orders").start().unwrap();
    first.elected().await.unwrap();
    let second = Candidate::builder(store, "orders").start().unwrap();
    let (mut at_first, mut at_second) = (client_of(&first).await, client_of(&second).await);
    assert_eq!(
        [call(&mut at_first).await, call(&mut at_second).await],
        [Code::Ok, Code::Unavailable]
    );
    first.stop().await.unwrap();
    second.elected().await.unwrap();
    assert_eq!(
        [call(&mut at_first).await, call(&mut at_second).await],
        [Code::Unavailable, Code::Ok]
    );
}
