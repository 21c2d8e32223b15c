package permission_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/agent/permission"
)

const sesame = "open5esame"

// A secret on a command line is nowhere in what is kept and shown of a request,
// by whichever option it is given.
func TestSecretsOnCommandLinesAreMasked(t *testing.T) {
	for _, line := range []string{
		"mysql -u root -pSECRET db", "mysql -uroot -p'SECRET' -e 'select 1'", "/usr/bin/mysqldump -pSECRET x", "mysqladmin -pSECRET ping", "mariadb-dump -pSECRET",
		"sshpass -p SECRET ssh a@b", "sshpass -pSECRET ssh a@b", "sudo sshpass -p SECRET ssh a@b true", "timeout 5 sshpass -p SECRET ssh a@b",
		"PGPASSWORD=SECRET psql -h x", "env PGPASSWORD=SECRET psql", "MYSQL_PWD=SECRET mysql", "SSHPASS=SECRET sshpass -e ssh x", "REDISCLI_AUTH=SECRET redis-cli", "export DB_PASS=SECRET",
		"curl -u user:SECRET https://a.test", "curl -uuser:SECRET https://a.test", "curl --user user:SECRET https://a.test", "curl -U u:SECRET x", "curl -H 'Authorization: Bearer SECRET' x", "curl -H 'X-Api-Key: SECRET' x",
		"wget --password=SECRET x", "wget --http-password SECRET x", "redis-cli -a SECRET ping", "ldapsearch -x -w SECRET -D cn=x", "smbclient //a/b -U user%SECRET",
		"docker login -u x -p SECRET r.test", "docker login --password SECRET", "podman login -pSECRET r.test", "helm registry login -p SECRET x", "skopeo copy --src-creds user:SECRET a b",
		"az login --service-principal -p SECRET", "aws configure set aws_secret_access_key SECRET", "gcloud auth activate --access-token SECRET", "gh api --token SECRET", "kubectl config set-credentials x --token=SECRET",
		"git clone https://user:SECRET@host.test/x", "vault login SECRET", "htpasswd -b file user SECRET", "openssl enc -pass pass:SECRET", "openssl rsa -passin pass:SECRET", "zip -P SECRET a b", "7z x -pSECRET a.7z",
		"mongosh -u a -p SECRET", "sqlcmd -S x -P SECRET", "ansible-vault --client-secret SECRET", "ssh host 'mysql -pSECRET db'", "bash -c 'sshpass -p SECRET ssh x'", "lftp -u user,SECRET host", "http -a user:SECRET x",
		"curl -su u:SECRET x", "curl -sSLu u:SECRET x", "curl -fsuu:SECRET x", `curl -d '{"password":"SECRET"}' x`, `curl -d '{"user": "a", "api_key": "SECRET"}' x`, `curl --data "{\"client_secret\": \"SECRET\"}" x`, "curl -H 'Authorization: SECRET' x", `curl -H "authorization:SECRET" x`, "curl -H 'Authorization: Digest a, SECRET' x", "curl -H 'Proxy-Authorization: Basic SECRET' x",
		"export PGPASSWORD='a; SECRET'", `export DB_PASS="a; SECRET"`, "export PGPASSWORD='a & SECRET'; psql", "docker login --password-stdin <<< SECRET", "sudo -S ls <<< 'a SECRET'", `docker login -u x --password-stdin r.test <<<"SECRET"`, "echo SECRET | docker login --password-stdin", "printf '%s' 'SECRET' | sudo -S ls", "chpasswd <<< root:SECRET",
		"GH_PAT=SECRET gh", "PW=SECRET ./x", "STRIPE_KEY=SECRET ./x", "export KEY=SECRET", "MY_CRED=SECRET ./x", "X_AUTH=SECRET ./x", "pwd=SECRET ./x", "DB_PASS2=SECRET ./x", "make deploy PAT=SECRET", "curl --proxy-user a:SECRET x", "curl --proxy-user=a:SECRET x", "curl 'https://a.test/?user=b&key=SECRET'",
		"git clone https://SECRET@github.com/x/y", "git push https://SECRET@github.com/x/y main", "git config user.password SECRET", "git config --global http.extra.token SECRET", "mount -t cifs -o user=bob,pass=SECRET //a/b /mnt", "mount -o username=bob,password=SECRET,ro //a/b /mnt", "kubectl create secret generic x --from-literal=password=SECRET", "docker run -e DB_PW=SECRET x", "docker run --env=DB_PW=SECRET x",
		`curl -d '{"pwd":"SECRET"}' x`, `curl -d '{"user":"a","pass": "SECRET"}' x`, `curl --json '{"auth":"SECRET","b":1}' x`, "curl -H 'Cookie: SECRET' x", "curl -H 'cookie: a=1; b=SECRET' x", "curl -b SECRET x", "curl -sb a=SECRET x", "curl --cookie a=SECRET x", "twine upload -u a -p SECRET d", "ssh-keygen -t rsa -N SECRET -f k", "ssh-keygen -p -P SECRET -N '' -f k",
		"cargo login SECRET", "npm config set //r.test/:_authToken SECRET", "npm config set //r.test/:_authToken=SECRET", "npm publish --//r.test/:_authToken=SECRET", "nmcli dev wifi connect net password SECRET", "nmcli c modify net wifi-sec.psk SECRET", "wpa_passphrase ssid SECRET",
		`echo "SECRET" | gh auth login --with-token`, "gh auth login --with-token <<< SECRET", "gh auth login --with-token <<< 'SECRET'", "echo SECRET | npm login", "printf %s SECRET | vault login -", "docker login --password-stdin <<EOF\nSECRET\nEOF", "gh auth login --with-token <<'E'\nSECRET\nE", "echo SECRET | gh secret set X", "gh secret set X <<< SECRET", "gh secret set X --body SECRET", "echo SECRET | cat | docker login --password-stdin",
		"echo a && mysql -pSECRET", "cat x | mysql -pSECRET", "echo $(mysql -pSECRET)", `mysql -p"SECRET"`, `mysql -pSEC\RET`, `mysql -p'SEC'RET`,
	} {
		// Its beginning stands for the halves, where quotes divide it.
		command := strings.NewReplacer("SECRET", sesame, `SEC\RET`, sesame[:5]+`\`+sesame[5:], "'SEC'RET", "'"+sesame[:5]+"'"+sesame[5:]).Replace(line)
		state := t.TempDir()
		b, heard := openBroker(t, state)
		r := run(command)
		input, err := json.Marshal(map[string]string{"command": command, "description": "run " + command})
		if err != nil {
			t.Fatal(err)
		}
		r.Input, r.Text = input, "May I run "+command
		answer := ask(t.Context(), b, r)
		shown := <-heard.approvals
		if _, err := b.Decide(shown.ID, permission.Answer{By: "ana", Always: true, Approve: true}); err != nil {
			t.Fatal(err)
		}
		<-answer
		if _, why := b.Check(r); strings.Contains(why, sesame[:5]) {
			t.Errorf("%s: checked: %s", line, why)
		}
		err = filepath.WalkDir(state, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			if strings.Contains(string(data), sesame[:5]) {
				t.Errorf("%s: %s has %s", line, filepath.Base(path), data)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// What is no secret is shown, so that whoever decides sees it.
func TestWhatIsNoSecretIsShown(t *testing.T) {
	for _, line := range []string{
		"mkdir -p build/out", "docker run -p 8080:80 nginx", "mysql -p database", "cp -p a b", "ssh -p 2222 host.test", "curl -u user https://a.test", "git commit -m 'add token parser'",
		"docker login --password-stdin r.test", "redis-cli -h host.test ping", "openssl enc -pass env:NAME", "PWD=/tmp/x ls", "go test -run Token ./internal/pass", "unzip -p a.zip file", "psql -U alice", "cat <<< hello", "echo hello | wc -c", `curl -d '{"name":"ana"}' x`, "curl -sSL https://a.test",
		"git commit --author=ana -m x", "sort --key=2 a", "sort -k 2 a", "grep -r password src", "grep token a.go", "rg secret src", "git add token.go pass.go", "git log --author ana", "PATH=/tmp/x ls", "MYPATH=/tmp/x ./y", "OLDPWD=/tmp/x ./y", "PATTERN=abc ./y", "KEYBOARD=us ./y", "git clone ssh://git@github.com/x/y", "git clone git@github.com:x/y", "git clone https://bob@github.com/x/y", "kubectl get secret mysecret", "kubectl create secret generic thing", "git config user.name ana", "git config credential.helper store", "git config credential.username ana", "ssh-keygen -t ed25519 -f newkey",
		"twine upload dist", "cargo build", "npm config set registry https://r.test", "nmcli dev wifi connect network", "mount -o user=bob,ro //a/b /mnt", `curl -d '{"path":"src","keys":"many"}' x`, "curl -H 'Accept: text/plain' x", "curl --cookie-jar jar.txt x", "gh auth status", "echo hello | tee login.txt", "make KEYS=4 build", "docker run -e MODE=fast x", "go test -run 'Pass|Auth' ./x", "tool --auth-type basic x", "tool --token-file path", "echo done | cat", "gh pr create --body text",
	} {
		b, heard := openBroker(t, t.TempDir())
		answer := ask(t.Context(), b, run(line+" ; make"))
		shown := <-heard.approvals
		if shown.Request.Command != line+" ; make" {
			t.Errorf("%q is shown as %q", line, shown.Request.Command)
		}
		if _, err := b.Decide(shown.ID, permission.Answer{By: "ana"}); err != nil {
			t.Fatal(err)
		}
		<-answer
	}
}
