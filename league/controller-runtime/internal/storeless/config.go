package storeless

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// Config is how the API server is reached.
type Config struct {
	Server string
	TLS    *tls.Config
	// Token is a bearer token, or "" where the TLS certificate says who we are.
	Token string
	// TokenFile is read again for every connection, since a pod's token is renewed.
	TokenFile string
}

const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

// LoadConfig takes the first file of KUBECONFIG, or else the pod's service account, or else
// ~/.kube/config. Certificates and tokens are understood, exec plugins are refused.
func LoadConfig() (*Config, error) {
	if path, _, _ := strings.Cut(os.Getenv("KUBECONFIG"), string(os.PathListSeparator)); path != "" {
		return fromKubeconfig(path)
	}
	if host := os.Getenv("KUBERNETES_SERVICE_HOST"); host != "" {
		ca, err := os.ReadFile(filepath.Join(serviceAccount, "ca.crt"))
		if err != nil {
			return nil, fmt.Errorf("reading the service account: %w", err)
		}
		config := &Config{
			Server:    fmt.Sprintf("https://%s:%s", host, os.Getenv("KUBERNETES_SERVICE_PORT")),
			TokenFile: filepath.Join(serviceAccount, "token"),
		}
		config.TLS, err = tlsConfig(ca, nil, nil, "")
		return config, err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, errors.New("no cluster: set KUBECONFIG to a kubeconfig file")
	}
	return fromKubeconfig(filepath.Join(home, ".kube/config"))
}

type kubeconfig struct {
	CurrentContext string `json:"current-context"`
	Contexts       []struct {
		Name    string
		Context struct{ Cluster, User string }
	}
	Clusters []struct {
		Name    string
		Cluster struct {
			Server        string
			CA            string `json:"certificate-authority"`
			CAData        string `json:"certificate-authority-data"`
			TLSServerName string `json:"tls-server-name"`
			Insecure      bool   `json:"insecure-skip-tls-verify"`
		}
	}
	Users []struct {
		Name string
		User struct {
			Token     string
			TokenFile string `json:"tokenFile"`
			Cert      string `json:"client-certificate"`
			CertData  string `json:"client-certificate-data"`
			Key       string `json:"client-key"`
			KeyData   string `json:"client-key-data"`
			Exec      any
		}
	}
}

func fromKubeconfig(path string) (*Config, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("no cluster: %w; set KUBECONFIG to a kubeconfig file", err)
	}
	var file kubeconfig
	if err := yaml.Unmarshal(raw, &file); err != nil {
		return nil, fmt.Errorf("%s is not a kubeconfig: %w", path, err)
	}
	for _, context := range file.Contexts {
		if context.Name == file.CurrentContext {
			config, err := file.config(filepath.Dir(path), context.Context.Cluster, context.Context.User)
			if err != nil {
				return nil, fmt.Errorf("%s: context %q: %w", path, context.Name, err)
			}
			return config, nil
		}
	}
	return nil, fmt.Errorf("%s: there is no context %q; set current-context", path, file.CurrentContext)
}

func (file *kubeconfig) config(folder, clusterName, userName string) (*Config, error) {
	config := &Config{}
	var ca, cert, key []byte
	var err error
	for _, one := range file.Clusters {
		if one.Name == clusterName {
			if one.Cluster.Insecure {
				return nil, errors.New("insecure-skip-tls-verify is not supported; give certificate-authority")
			}
			config.Server = strings.TrimSuffix(one.Cluster.Server, "/")
			if ca, err = inline(folder, one.Cluster.CAData, one.Cluster.CA); err != nil {
				return nil, err
			}
			config.TLS = &tls.Config{ServerName: one.Cluster.TLSServerName}
		}
	}
	if config.Server == "" {
		return nil, fmt.Errorf("there is no cluster %q with a server", clusterName)
	}
	for _, one := range file.Users {
		if one.Name != userName {
			continue
		}
		if one.User.Exec != nil {
			return nil, errors.New("exec plugins are not supported; use a token or a certificate")
		}
		config.Token, config.TokenFile = one.User.Token, one.User.TokenFile
		if cert, err = inline(folder, one.User.CertData, one.User.Cert); err != nil {
			return nil, err
		}
		if key, err = inline(folder, one.User.KeyData, one.User.Key); err != nil {
			return nil, err
		}
	}
	config.TLS, err = tlsConfig(ca, cert, key, config.TLS.ServerName)
	return config, err
}

// inline is data in base64, or the content of a file beside the kubeconfig.
func inline(folder, data, file string) ([]byte, error) {
	switch {
	case data != "":
		return base64.StdEncoding.DecodeString(data)
	case file == "":
		return nil, nil
	case !filepath.IsAbs(file):
		file = filepath.Join(folder, file)
	}
	return os.ReadFile(file)
}

func tlsConfig(ca, cert, key []byte, serverName string) (*tls.Config, error) {
	config := &tls.Config{ServerName: serverName}
	if ca != nil {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(ca) {
			return nil, errors.New("the certificate authority holds no certificate")
		}
	}
	if cert != nil {
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("the client certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
