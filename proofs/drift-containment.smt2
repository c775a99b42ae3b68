; DriftContainmentArithmetic (Appendix A.3; T2 and T3 with rates): if D_P (1 + rho) <= D_A (1 - rho), then in real time
; the owner's authority ends no later than the exclusion. The owner's clock may be the slowest allowed, the acceptor's the
; fastest. With Q for D_A it is the quarantine: then the acceptor's interval begins with its restart.
;
; D_A here is any number; exclusion-rounds.smt2 shows that lh_timing_exclusion gives one that satisfies the inequality.
(set-logic QF_NRA)
(declare-const rho Real)
(declare-const d_p Real) ; on the owner's clock
(declare-const d_a Real) ; on the acceptor's clock
(declare-const owner-rate Real)
(declare-const acceptor-rate Real)
(declare-const authority Real) ; how long D_P takes in real time
(declare-const exclusion Real) ; how long D_A takes in real time
(declare-const prepared Real)
(declare-const accepted Real)
(assert (and (<= 0.0 rho) (< rho 1.0) (> d_p 0.0) (> d_a 0.0)))
(assert (and (<= (- 1.0 rho) owner-rate) (<= owner-rate (+ 1.0 rho))))
(assert (and (<= (- 1.0 rho) acceptor-rate) (<= acceptor-rate (+ 1.0 rho))))
(assert (= (* authority owner-rate) d_p))
(assert (= (* exclusion acceptor-rate) d_a))
(assert (<= prepared accepted))

; Claim.
(push 1)
(assert (<= (* d_p (+ 1.0 rho)) (* d_a (- 1.0 rho))))
(assert (not (<= (+ prepared authority) (+ accepted exclusion))))
(set-info :status unsat)
(check-sat)
(pop 1)

; Twin: D_P <= D_A, the inequality of equal clocks.
(push 1)
(assert (<= d_p d_a))
(assert (not (<= (+ prepared authority) (+ accepted exclusion))))
(set-info :status sat)
(check-sat)
(pop 1)
