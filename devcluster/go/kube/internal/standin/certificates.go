package standin

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"time"
)

const (
	authorityLifetime = 10 * 365 * 24 * time.Hour
	leafLifetime      = 365 * 24 * time.Hour
	// renewBefore is K3s' own margin: a leaf with less life than this is replaced at start.
	renewBefore = 120 * 24 * time.Hour
	// backdate allows for clocks that differ a little between machines.
	backdate = time.Hour
)

// authority is a certificate with the key to sign others.
type authority struct {
	certificate *x509.Certificate
	chain       []byte // PEM: the certificate and, for custom CAs, what it was signed by
	key         crypto.Signer
}

// leaf describes a certificate that an authority signs.
type leaf struct {
	path         string // without .crt and .key
	commonName   string
	organization []string
	usage        x509.ExtKeyUsage
	names        []string
	addresses    []net.IP
}

// loadOrCreateAuthority reads `<path>.crt` and `<path>.key`, or makes them as K3s does when neither is there.
func loadOrCreateAuthority(path, commonName string) (*authority, error) {
	chain, certErr := os.ReadFile(path + ".crt")
	keyPEM, keyErr := os.ReadFile(path + ".key")
	switch {
	case certErr == nil && keyErr == nil:
		return parseAuthority(path, chain, keyPEM)
	case errors.Is(certErr, fs.ErrNotExist) && errors.Is(keyErr, fs.ErrNotExist):
		return createAuthority(path, commonName)
	default:
		return nil, fmt.Errorf("a custom CA needs both %[1]s.crt and %[1]s.key: %[2]w", path, errors.Join(certErr, keyErr))
	}
}

func parseAuthority(path string, chain, keyPEM []byte) (*authority, error) {
	certificate, err := parseCertificate(chain)
	if err != nil {
		return nil, fmt.Errorf("%s.crt: %w", path, err)
	}
	if !certificate.IsCA {
		return nil, fmt.Errorf("%s.crt: must be a CA certificate", path)
	}
	key, err := parseKey(keyPEM)
	if err != nil {
		return nil, fmt.Errorf("%s.key: %w", path, err)
	}
	if !matches(certificate, key) {
		return nil, fmt.Errorf("%[1]s.key: must be the key of %[1]s.crt", path)
	}
	return &authority{certificate, chain, key}, nil
}

func createAuthority(path, commonName string) (*authority, error) {
	key, err := createKey(path + ".key")
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          serialNumber(),
		Subject:               pkix.Name{CommonName: fmt.Sprintf("%s@%d", commonName, time.Now().Unix())},
		NotBefore:             time.Now().Add(-backdate),
		NotAfter:              time.Now().Add(authorityLifetime),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment | x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	chain := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(path+".crt", chain, 0o644); err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	return &authority{certificate, chain, key}, err
}

// ensureLeaf keeps the leaf that is there while it is still good, so that a restart changes nothing.
func (signer *authority) ensureLeaf(wanted leaf) error {
	if signer.isGood(wanted) {
		return nil
	}
	key, err := createKey(wanted.path + ".key")
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: serialNumber(),
		Subject:      pkix.Name{CommonName: wanted.commonName, Organization: wanted.organization},
		NotBefore:    time.Now().Add(-backdate),
		NotAfter:     time.Now().Add(leafLifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage:  []x509.ExtKeyUsage{wanted.usage},
		DNSNames:     wanted.names,
		IPAddresses:  wanted.addresses,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer.certificate, key.Public(), signer.key)
	if err != nil {
		return fmt.Errorf("sign %s.crt: %w", wanted.path, err)
	}
	content := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), signer.chain...)
	return os.WriteFile(wanted.path+".crt", content, 0o644)
}

func (signer *authority) isGood(wanted leaf) bool {
	content, certErr := os.ReadFile(wanted.path + ".crt")
	keyPEM, keyErr := os.ReadFile(wanted.path + ".key")
	if certErr != nil || keyErr != nil {
		return false
	}
	certificate, certErr := parseCertificate(content)
	key, keyErr := parseKey(keyPEM)
	if certErr != nil || keyErr != nil || !matches(certificate, key) || certificate.CheckSignatureFrom(signer.certificate) != nil {
		return false
	}
	for _, name := range wanted.names {
		if certificate.VerifyHostname(name) != nil {
			return false
		}
	}
	for _, address := range wanted.addresses {
		if certificate.VerifyHostname(address.String()) != nil {
			return false
		}
	}
	return time.Until(certificate.NotAfter) > renewBefore
}

// createKey makes an EC key: made in microseconds, where RSA takes a noticeable part of the start-up time.
func createKey(path string) (crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
}

func parseCertificate(content []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(content)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, errors.New("must begin with a PEM certificate")
	}
	return x509.ParseCertificate(block.Bytes)
}

// parseKey reads the key formats that openssl writes; blocks before the key ("EC PARAMETERS") are skipped.
func parseKey(content []byte) (crypto.Signer, error) {
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		switch block.Type {
		case "EC PRIVATE KEY":
			return x509.ParseECPrivateKey(block.Bytes)
		case "RSA PRIVATE KEY":
			return x509.ParsePKCS1PrivateKey(block.Bytes)
		case "PRIVATE KEY":
			key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
			if err != nil {
				return nil, err
			}
			if signer, ok := key.(crypto.Signer); ok {
				return signer, nil
			}
		}
	}
	return nil, errors.New("must hold a PEM private key (EC, RSA or PKCS#8)")
}

func matches(certificate *x509.Certificate, key crypto.Signer) bool {
	public, comparable := certificate.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	return comparable && public.Equal(key.Public())
}

func serialNumber() *big.Int {
	limit := new(big.Int).Lsh(big.NewInt(1), 127)
	number, err := rand.Int(rand.Reader, limit)
	if err != nil {
		panic(err) // the system's random source never fails on a working system
	}
	return number
}
