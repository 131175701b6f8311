use std::future::pending;

use super::*;
use crate::runtime::TokioRuntime;

const BOUND: Duration = Duration::from_millis(200);

async fn now(login: &Login) -> Result<Identity, CredentialsError> {
    login.now(&TokioRuntime, BOUND).await
}

fn password(identity: &Identity) -> &str {
    identity.password.as_ref().map_or("", Secret::reveal)
}

#[tokio::test]
async fn errors_hide_what_was_sent() {
    let login = Login::new(Credentials::new("app", Secret::new("correct horse")));
    now(&login).await.unwrap();
    let error = StoreError::new(StoreErrorKind::Refused, "ERR no command 'correct horse' of app");
    assert!(error.to_string().ends_with("ERR no command '***' of app"), "{error}");
}

#[tokio::test]
async fn a_file_is_read_each_time() {
    let folder = std::env::temp_dir().join(format!("tenure-password-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("password");
    let login = Login::new(PasswordFile::new("app", &path));
    assert!(matches!(now(&login).await, Err(CredentialsError::File { .. })));
    for (content, expected) in [
        ("hush", "hush"),
        ("horse\n", "horse"),
        ("horse\r\n", "horse"),
        ("\"quoted\"", "\"quoted\""),
        ("a b", "a b"),
    ] {
        std::fs::write(&path, content).unwrap();
        let identity = now(&login).await.unwrap();
        assert_eq!((identity.username.as_deref(), password(&identity)), (Some("app"), expected));
    }
    for (content, says) in [
        ("", "is empty; it must have the password"),
        ("\n", "is empty; it must have the password"),
        ("hush\n\n", "a control character, such as a line break"),
        ("user=app\nhush\n", "a control character, such as a line break"),
        ("hush ", "white space at its beginning or end"),
        ("\u{feff}hush", "the byte order mark"),
    ] {
        std::fs::write(&path, content).unwrap();
        let error = StoreError::from(now(&login).await.unwrap_err());
        let shown = format!("{error} {error:?}");
        assert_eq!(error.kind(), StoreErrorKind::NoCredentials);
        assert!(shown.contains(says) && shown.contains(path.to_str().unwrap()), "{shown}");
        assert!(!shown.contains("hush"), "{shown}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn a_provider_is_asked_each_time() {
    let count = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let asked = Arc::clone(&count);
    let login = Login::new(move || {
        let number = asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        async move { Provided::Ok(Credentials::new("app", Secret::new(format!("hush-{number}")))) }
    });
    assert!(login.has_password() && !format!("{login:?}").contains("hush"));
    for expected in ["hush-0", "hush-1"] {
        assert_eq!(password(&now(&login).await.unwrap()), expected);
    }
}

#[tokio::test]
async fn a_provider_costs_no_more_than_an_attempt() {
    let fails = Login::new(|| async { Provided::Err("the vault is sealed".into()) });
    let error = StoreError::from(now(&fails).await.unwrap_err());
    assert_eq!(
        error.to_string(),
        "there are no credentials for the store: the provider of credentials has failed: the vault is sealed"
    );
    let panics = Login::new(|| async { panic!("as a bad provider does") });
    assert!(matches!(now(&panics).await, Err(CredentialsError::Panicked)));
    let at_once = Login::new(|| -> std::future::Ready<Provided> { panic!("as a worse one does") });
    assert!(matches!(now(&at_once).await, Err(CredentialsError::Panicked)));
    let hangs = Login::new(pending::<Provided>);
    let late = TokioRuntime.sleep_until(TokioRuntime.now() + BOUND * 100);
    tokio::select! {
        ended = now(&hangs) => {
            assert!(matches!(ended, Err(CredentialsError::Late { within }) if within == BOUND / 2));
        }
        () = late => panic!("it hangs, and costs more than its bound"),
    }
}
