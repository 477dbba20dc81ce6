use super::*;
use proptest::prelude::*;

/// Every way that we know of to write what must not be reached. Each row is refused, with and without loopback.
const HOSTILE: &[(&str, &str)] = &[
    ("no URL", "agent.example"),
    ("no URL", "//agent.example"),
    ("no URL", "/card"),
    ("no URL", ""),
    ("no host", "https://"),
    ("no host", "https:///card"),
    ("no host", "https://:443/"),
    ("another scheme", "ftp://agent.example"),
    ("another scheme", "file:///etc/passwd"),
    ("another scheme", "gopher://agent.example"),
    ("another scheme", "data:application/json,{}"),
    ("another scheme", "javascript:alert(1)"),
    ("another scheme", "HTTPS://agent.example"),
    ("unencrypted", "http://agent.example"),
    ("unencrypted", "http://8.8.8.8/"),
    ("userinfo", "https://user@agent.example"),
    ("userinfo", "https://user:secret@agent.example"),
    ("userinfo", "https://agent.example@169.254.169.254/"),
    ("userinfo", "https://agent.example%40169.254.169.254/"),
    ("backslash", "https://agent.example\\@169.254.169.254/"),
    ("backslash", "https:\\\\agent.example"),
    ("query", "https://agent.example/?x"),
    ("fragment", "https://agent.example/#x"),
    ("fragment", "https://agent.example#@10.0.0.1"),
    ("blank", "https://agent .example"),
    ("line break", "https://agent.example\n.internal"),
    ("tab", "https://agent\t.example"),
    ("null", "https://agent.example\0"),
    ("trailing dot", "https://agent.example./"),
    ("trailing dot", "https://localhost./"),
    ("trailing dot", "https://127.0.0.1./"),
    ("trailing dot", "https://metadata.google.internal./"),
    ("empty label", "https://agent..example/"),
    ("escaped host", "https://%31%32%37.0.0.1/"),
    ("escaped host", "https://loc%61lhost/"),
    ("another alphabet", "https://аgent.example/"),
    ("full-width digits", "https://１２７.０.０.１/"),
    ("circled digits", "https://①②⑦.⓪.⓪.①/"),
    ("ideographic stop", "https://127。0。0。1/"),
    ("underscore", "https://a_b.example/"),
    ("bad port", "https://agent.example:0/"),
    ("bad port", "https://agent.example:65536/"),
    ("bad port", "https://agent.example:/"),
    ("bad port", "https://agent.example:+443/"),
    ("bad port", "https://agent.example:443:80/"),
    ("single label", "https://metadata/"),
    ("single label", "https://intranet/"),
    ("local name", "https://a.localhost/"),
    ("local name", "https://LOCALHOST.localdomain/"),
    ("local name", "https://printer.local/"),
    ("local name", "https://router.lan/"),
    ("local name", "https://nas.home/"),
    ("local name", "https://nas.home.arpa/"),
    ("local name", "https://wiki.corp/"),
    ("metadata name", "https://metadata.google.internal/"),
    ("metadata name", "https://metadata.goog/"),
    ("metadata name", "https://metadata.azure.internal/"),
    ("metadata name", "https://instance-data.ec2.internal/"),
    ("cluster name", "https://kubernetes.default.svc/"),
    (
        "cluster name",
        "https://kubernetes.default.svc.cluster.local/",
    ),
    ("name of any address", "https://127.0.0.1.nip.io/"),
    ("name of any address", "https://169-254-169-254.sslip.io/"),
    ("name of loopback", "https://localtest.me/"),
    ("name of loopback", "https://a.lvh.me/"),
    ("unspecified", "https://0.0.0.0/"),
    ("unspecified", "https://0/"),
    ("other loopback", "https://127.0.0.2/"),
    ("other loopback", "http://127.1.2.3:8080/"),
    ("short loopback", "https://127.1/"),
    ("short loopback", "https://127.0.1/"),
    ("decimal", "https://2130706433/"),
    ("decimal", "https://2852039166/"),
    ("octal", "https://0177.0.0.1/"),
    ("octal", "https://017700000001/"),
    ("octal", "https://0251.0376.0251.0376/"),
    ("leading zero", "https://127.0.0.01/"),
    ("hexadecimal", "https://0x7f.0.0.1/"),
    ("hexadecimal", "https://0x7f000001/"),
    ("hexadecimal", "https://0xa9fea9fe/"),
    ("hexadecimal", "https://127.0.0.0x1/"),
    ("hexadecimal", "https://127.0.0.0X1/"),
    ("too large", "https://256.0.0.1/"),
    ("five numbers", "https://1.2.3.4.5/"),
    ("private", "https://10.0.0.1/"),
    ("private", "https://172.16.0.1/"),
    ("private", "https://172.31.255.255/"),
    ("private", "https://192.168.1.1/"),
    ("shared", "https://100.64.0.1/"),
    ("link-local", "https://169.254.169.254/latest/meta-data/"),
    ("link-local", "https://169.254.170.2/"),
    ("special", "https://192.0.0.192/"),
    ("platform", "https://168.63.129.16/machine"),
    ("documentation", "https://192.0.2.1/"),
    ("documentation", "https://198.51.100.1/"),
    ("documentation", "https://203.0.113.1/"),
    ("benchmark", "https://198.18.0.1/"),
    ("relay", "https://192.88.99.1/"),
    ("multicast", "https://224.0.0.1/"),
    ("broadcast", "https://255.255.255.255/"),
    ("IPv6 unspecified", "https://[::]/"),
    ("IPv6 loopback, long", "https://[0:0:0:0:0:0:0:1]/"),
    ("IPv6 mapped", "https://[::ffff:127.0.0.1]/"),
    ("IPv6 mapped", "https://[::ffff:7f00:1]/"),
    ("IPv6 mapped", "https://[::ffff:169.254.169.254]/"),
    ("IPv6 compatible", "https://[::127.0.0.1]/"),
    ("IPv6 translated", "https://[64:ff9b::7f00:1]/"),
    ("IPv6 translated", "https://[64:ff9b:1::a00:1]/"),
    ("IPv6 6to4", "https://[2002:7f00:1::]/"),
    ("IPv6 Teredo", "https://[2001:0:7f00:1::]/"),
    ("IPv6 documentation", "https://[2001:db8::1]/"),
    ("IPv6 documentation", "https://[3fff::1]/"),
    ("IPv6 link-local", "https://[fe80::1]/"),
    ("IPv6 zone", "https://[fe80::1%25eth0]/"),
    ("IPv6 unique local", "https://[fd00:ec2::254]/"),
    ("IPv6 unique local", "https://[fc00::1]/"),
    ("IPv6 multicast", "https://[ff02::1]/"),
    ("IPv6 unclosed", "https://[2606:4700::1111/"),
    ("IPv6 bare", "https://2606:4700::1111/"),
    ("IPv6 and more", "https://[2606:4700::1111]x/"),
];

#[test]
fn a_hostile_url_is_refused_and_never_repeated() {
    for (why, url) in HOSTILE {
        for loopback in [false, true] {
            let refused = Target::parse(url, loopback);
            assert!(refused.is_err(), "{why}: {url} gave {refused:?}");
        }
    }
    assert!(
        Target::parse(
            &format!("https://agent.example/{}", "a".repeat(2048)),
            false
        )
        .is_err()
    );
}

#[test]
fn a_public_https_url_is_taken() {
    for (url, origin, path) in [
        ("https://agent.example", "https://agent.example", ""),
        ("https://Agent.Example:443/", "https://agent.example", ""),
        (
            "https://agent.example:8443/a2a/",
            "https://agent.example:8443",
            "/a2a",
        ),
        ("https://8.8.8.8/x", "https://8.8.8.8", "/x"),
        (
            "https://xn--bcher-kva.example/",
            "https://xn--bcher-kva.example",
            "",
        ),
        (
            "https://[2606:4700::1111]:8443",
            "https://[2606:4700::1111]:8443",
            "",
        ),
        ("https://1e100.net", "https://1e100.net", ""),
    ] {
        let target = Target::parse(url, false).unwrap();
        assert_eq!(
            (target.origin.as_str(), target.path.as_str()),
            (origin, path)
        );
        assert!(!target.is_loopback);
    }
}

#[test]
fn loopback_is_reached_only_where_the_operator_allows_it() {
    for url in [
        "http://127.0.0.1:8787",
        "http://localhost:8787/",
        "http://[::1]:8787",
        "https://127.0.0.1",
        "http://LOCALHOST",
    ] {
        assert_eq!(
            Target::parse(url, false),
            Err("must not lead to this machine"),
            "{url}"
        );
        assert!(Target::parse(url, true).unwrap().is_loopback, "{url}");
    }
}

proptest! {
    #[test]
    fn any_text_is_taken_or_refused(url in "\\PC{0,80}", loopback: bool) {
        let _ = Target::parse(&url, loopback);
    }

    #[test]
    fn what_is_taken_is_taken_again(url in "https?://[a-z0-9.:\\[\\]-]{1,30}(/[a-z.%]{0,8}){0,3}", loopback: bool) {
        if let Ok(target) = Target::parse(&url, loopback) {
            prop_assert_eq!(Target::parse(&target.url(), loopback), Ok(target));
        }
    }
}
