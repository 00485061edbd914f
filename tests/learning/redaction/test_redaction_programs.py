"""A command with a password is known by its program and option; the same letters mean other things elsewhere."""

from __future__ import annotations

import json

import pytest

from prowess.learning.redaction.masking import mask

PASSWORD = "Summer!Lake#91"
GENERATED = "mQ7xw2Rkf9zT4bN"

GIVEN = [
    r"net use Z: \\srv\share {} /user:CORP\bob",
    r"net use \\srv\share /user:bob {}",
    "net user bob {} /add",
    "http -a bob:{} https://api.test/x",
    "useradd -m -p {} bob",
    "usermod -p '{}' bob",
    "ansible-vault encrypt_string '{}' --name db_password",
    "curl -sSu bob:{} https://a.test",
    "curl -X POST \\\n  -u bob:{} \\\n  https://a.test",
    "curl -b 'session={}' a.test",
    "curl --oauth2-bearer {} a.test",
    "mysql \\\n  -u root \\\n  -p{} \\\n  app",
    "mysqladmin -u root password {}",
    "SSHPASS={} sshpass -e ssh h",
    "openssl passwd -6 {}",
    "openssl rsa -in k.pem -passin pass:{} -out k2.pem",
    "skopeo copy --dest-creds bob:{} docker://a docker://b",
    "redis-cli -a {} ping",
    "REDISCLI_AUTH={} redis-cli",
    "mount -t cifs //h/s /mnt -o user=bob,pass={}",
    "cqlsh -u bob -p {} h",
    "az login -u bob@x.test -p {}",
    "az keyvault secret set --vault-name v --name n --value {}",
    "cmdkey /add:h /user:bob /pass:{}",
    "schtasks /create /tn x /tr y /ru bob /rp {}",
    "plink -ssh bob@h -pw {} ls",
    "security add-generic-password -a bob -s svc -w {}",
    "security unlock-keychain -p {} login.keychain",
    "vault login {}",
    'gh secret set API -b"{}"',
    "gh auth login --with-token <<EOF\n{}\nEOF",
    "docker login -u bob --password-stdin <<'EOF'\n{}\nEOF",
    "echo -n {} | gh secret set API",
    "printf '%s' '{}' | docker secret create db_pw -",
    'echo -e "{0}\\n{0}" | passwd bob',
    "chpasswd <<< 'bob:{}'",
    "echo {} | kinit bob@X.TEST",
    "poetry config http-basic.x bob {}",
    "cargo login {}",
    "impdp system/{}@x directory=d",
    "rpcclient -U 'bob%{}' h",
    "mosquitto_passwd -b f bob {}",
    "unrar x -p{} a.rar",
    "pdftk a.pdf input_pw {} output b.pdf",
    "ssh-keygen -t ed25519 -N {} -f k",
    "ipmitool -H h -U bob -P {} power status",
    "snmpwalk -v3 -u bob -A {} -X {} h",
    "java -jar jenkins-cli.jar -auth bob:{} list",
    "mvn -Dsonar.login={} sonar:sonar",
    "keytool -importkeystore -srcstorepass {} -deststorepass {}",
    "psexec.py corp/bob:{}@h",
    'ConvertTo-SecureString -String "{}" -AsPlainText -Force',
    "redis-cli -h h AUTH default {}",
    "openssl passwd -6 -salt x1 {}",
    "docker login -u bob --password-stdin r.test <<< '{}'",
    "docker login -u bob --password-stdin r.test <<EOF\n{}\nEOF",
    "SET PASSWORD FOR 'bob'@'%' = '{}';",
    "snmp-server community {} RO",
]

OTHER = [
    "find /workspace/mysql -type f -printf '%s %p\\n'",
    "find / -name mysql -path /proc -prune -o -print0",
    "docker run -u 1000:1000 -p 8080:80 app2",
    "docker exec -u root -p tcp app1",
    "ssh -p 2222 bob@host1",
    "mkdir -p src/app2 && ls",
    "pytest -p no:cacheprovider -k test_login2",
    "python -u train2.py -p configs/v1.yaml",
    "curl -u $USER:$PASS https://a.test",
    "curl -u user1 https://a.test:8080/x",
    "mysql -u root -p app < dump2.sql",
    'mysql -u root -p"$DB_PASSWORD" app',
    "mysql -u root -p$(cat /run/secrets/db1) app",
    "echo $TOKEN1 | gh auth login --with-token",
    "gh auth login --with-token < token1.txt",
    "docker login -u bob --password-stdin < pw2.txt",
    "echo done2 | tee secrets1.txt",
    "redis-cli -h host1 -p 6380 ping",
    "az storage blob list -c images2",
    "ssh-keygen -t ed25519 -N '' -f key2",
    "ssh-keygen -R host1.test",
    "gh secret set API < value1.txt",
    "net use",
    "npm login --registry https://r1.test",
    "cargo login --registry crates2",
    "vault login -method=oidc",
    "http GET https://api.test/v1 page==2",
    "java -Dlog4j.level=debug2 -jar a1.jar",
    "htpasswd -c .htpasswd bob1",
    "openssl rsa -in k1.pem -passin env:KEY_PASS1",
    "zip -P",
    "useradd -m -s /bin/bash bob1",
    "git config user.password",
    "ldapsearch -x -D cn=a1 -W -b dc=x1",
    "docker run --name some-mysql -p3306:3306 -d mysql",
    "docker run --user root1 -p 127.0.0.1:8443:443/tcp app1",
    "sudo -u app1 mkdir -p build2",
    "sudo -u app1 -H mkdir -p build2",
    "sudo -u postgres pg_ctl -p port2 start",
    "docker exec -it -u root box1 mkdir -p build2",
    "pgrep -u root1 -p abcd1",
    "nmap -sU -u x1 -p T:80,U:53 host1",
    "curl -u username:password https://a.test",
    "redis-cli AUTH default",
    "bw login alice1@x.test",
    "echo eyJhIjoxMjN9 | base64 -d",
    "echo dmVyc2lvbjogMS4yLjMKbmFtZTogZm9v | base64 -d",
]


@pytest.mark.parametrize("secret", [PASSWORD, GENERATED])
@pytest.mark.parametrize("command", GIVEN)
def test_what_a_program_is_given_as_its_password_is_masked(command: str, secret: str) -> None:
    given = command.format(secret, secret)
    masked = mask(given)
    assert secret not in masked
    assert mask(masked) == masked
    assert masked.split()[0].partition("=")[0] == command.split()[0].partition("=")[0]


@pytest.mark.parametrize("command", GIVEN)
def test_it_is_masked_in_json_too(command: str) -> None:
    once = json.dumps({"command": command.format(GENERATED, GENERATED)})
    for text in (once, json.dumps({"body": once})):
        masked = mask(text)
        assert GENERATED not in masked
        json.loads(masked)


@pytest.mark.parametrize(
    "command",
    [
        "mysql -uroot -p{} app",
        "sshpass -p {} ssh h",
        "svn co --password {} https://x",
        "curl -u bob:x{}",
        "echo {} | sudo -S ls",
        "echo {} | docker login -u x --password-stdin r",
        "docker login -u x --password-stdin r <<< {}",
        "ALTER USER bob IDENTIFIED BY {};",
    ],
)
@pytest.mark.parametrize("quoted", ["'ab\"cd12EF34gh'", '"ab\'cd12EF34gh"', "'Ab12|cd34;Ef'", "'p@ss:w0rd/9x&y'"])
def test_quotes_hold_what_else_would_end_a_value(command: str, quoted: str) -> None:
    given = command.replace("bob:x{}", f"{quoted[0]}bob:{quoted[1:]}").replace("{}", quoted)
    masked = mask(given)
    assert not any(quoted[at : at + 5] in masked for at in range(1, len(quoted) - 5))
    assert mask(masked) == masked


@pytest.mark.parametrize("command", OTHER)
def test_what_is_no_password_stays(command: str) -> None:
    assert mask(command) == command


@pytest.mark.parametrize(
    "command",
    [
        "mysql -p'{}' app",
        "sshpass -p '{}' ssh h",
        "redis-cli -a '{}'",
        "mongosh -p '{}'",
        "curl -u 'bob:{}' https://a.test",
        "http -a 'bob:{}' a.test",
        "echo '{}' | sudo -S ls",
        "docker login -u x --password-stdin r <<< '{}'",
    ],
)
def test_a_dollar_in_single_quotes_begins_a_password_unless_it_names_a_variable(command: str) -> None:
    assert "ecret9xz" not in mask(command.format("$ecret9xz"))
    for variable in ("$DB_PASS", "$DB_PASS2", "$password", "${DB_PASS}", "$1"):
        assert mask(command.format(variable)) == command.format(variable)
    in_double = command.replace("'", '"').format("$ecret9xz")
    assert mask(in_double) == in_double
