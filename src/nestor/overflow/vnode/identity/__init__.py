"""The certificates of this process: one for each node that it acts as, and one for its kubelet API.

They are asked for by CertificateSigningRequests as this process's ServiceAccount, and approved by the operator.
"""
